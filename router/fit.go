package router

// nCauses is how many causes a quantity may have.
const nCauses = 3

// causes are the quantities that another depends on, or a coefficient for each.
type causes [nCauses]float64

// linear follows a quantity that is a sum of some others, each times a
// coefficient that drifts: least squares that forget, drawn towards a prior
// where samples say little. The zero value has no prior and must not be used.
type linear struct {
	prior causes
	pull  causes  // how strongly each coefficient keeps to its prior
	keep  float64 // samples' weight that it remembers
	xx    [nCauses]causes
	xy    causes
	k     causes // the coefficients now
}

// newLinear starts at a prior that is worth weight samples of a typical size.
func newLinear(prior, typical causes, weight, memory float64) linear {
	l := linear{prior: prior, k: prior, keep: memory}
	for i, x := range typical {
		l.pull[i] = weight * x * x
	}
	return l
}

// add takes in a sample.
func (l *linear) add(x causes, y, weight float64) {
	fade := 1 - min(weight/l.keep, 0.5)
	for i := range x {
		for j := range x {
			l.xx[i][j] = l.xx[i][j]*fade + weight*x[i]*x[j]
		}
		l.xy[i] = l.xy[i]*fade + weight*x[i]*y
	}
	l.solve()
}

// of is the quantity at x.
func (l *linear) of(x causes) float64 {
	y := 0.0
	for i := range x {
		y += l.k[i] * x[i]
	}
	return y
}

// solve finds the coefficients: (xx + pull) k = xy + pull · prior. None of what is
// followed here shrinks when its causes grow, so none is below 0.
func (l *linear) solve() {
	fixed := [nCauses]bool{}
	for {
		l.k = l.solveFree(fixed)
		again := false
		for i := range l.k {
			if l.k[i] < 0 && !fixed[i] {
				fixed[i], again = true, true
			}
		}
		if !again {
			return
		}
	}
}

// solveFree is Gauss's elimination with the fixed coefficients at 0. The matrix is
// positive definite, so no pivot is 0 unless its pull is: then the coefficient
// isn't used.
func (l *linear) solveFree(fixed [nCauses]bool) (k causes) {
	var m [nCauses][nCauses + 1]float64
	for i := range k {
		if fixed[i] || l.pull[i] == 0 {
			m[i][i] = 1
			continue
		}
		for j := range k {
			if !fixed[j] {
				m[i][j] = l.xx[i][j]
			}
		}
		m[i][i] += l.pull[i]
		m[i][nCauses] = l.xy[i] + l.pull[i]*l.prior[i]
	}
	for i := range k {
		for j := i + 1; j < nCauses; j++ {
			f := m[j][i] / m[i][i]
			for c := i; c <= nCauses; c++ {
				m[j][c] -= f * m[i][c]
			}
		}
	}
	for i := nCauses - 1; i >= 0; i-- {
		k[i] = m[i][nCauses]
		for j := i + 1; j < nCauses; j++ {
			k[i] -= m[i][j] * k[j]
		}
		k[i] /= m[i][i]
	}
	return k
}
