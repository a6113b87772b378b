package router

// linear follows a quantity that is a sum of up to three others, each times a
// coefficient that drifts: least squares that forget, drawn towards a prior
// where samples say little. The zero value has no prior and must not be used.
type linear struct {
	prior [3]float64
	pull  [3]float64 // how strongly each coefficient keeps to its prior
	keep  float64    // samples' weight that it remembers
	xx    [3][3]float64
	xy    [3]float64
	k     [3]float64 // the coefficients now
}

// newLinear starts at a prior that is worth weight samples of a typical size.
func newLinear(prior, typical [3]float64, weight, memory float64) linear {
	l := linear{prior: prior, k: prior, keep: memory}
	for i, x := range typical {
		l.pull[i] = weight * x * x
	}
	return l
}

// add takes in a sample.
func (l *linear) add(x [3]float64, y, weight float64) {
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
func (l *linear) of(x [3]float64) float64 { return l.k[0]*x[0] + l.k[1]*x[1] + l.k[2]*x[2] }

// solve finds the coefficients: (xx + pull) k = xy + pull · prior. None of what is
// followed here shrinks when its causes grow, so none is below 0.
func (l *linear) solve() {
	fixed := [3]bool{}
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
func (l *linear) solveFree(fixed [3]bool) (k [3]float64) {
	var m [3][4]float64
	for i := range 3 {
		if fixed[i] || l.pull[i] == 0 {
			m[i][i] = 1
			continue
		}
		for j := range 3 {
			if !fixed[j] {
				m[i][j] = l.xx[i][j]
			}
		}
		m[i][i] += l.pull[i]
		m[i][3] = l.xy[i] + l.pull[i]*l.prior[i]
	}
	for i := range 3 {
		for j := i + 1; j < 3; j++ {
			f := m[j][i] / m[i][i]
			for c := i; c < 4; c++ {
				m[j][c] -= f * m[i][c]
			}
		}
	}
	for i := 2; i >= 0; i-- {
		k[i] = m[i][3]
		for j := i + 1; j < 3; j++ {
			k[i] -= m[i][j] * k[j]
		}
		k[i] /= m[i][i]
	}
	return k
}
