package replica

import "errors"

const (
	maxSizeDigits = 15      // of a chunk: below 2^60
	maxExtension  = 256     // bytes after a chunk's size
	maxTrailer    = 8 << 10 // bytes of all trailer lines together
)

// chunkState is what the decoder expects next.
type chunkState uint8

const (
	inSize       chunkState = iota // digits of a chunk's size
	inExtension                    // what follows a ";", ignored
	sizeLF                         // the LF of the size line
	inData                         // left bytes of data
	dataCR                         // the CRLF behind the data
	dataLF                         //
	trailerStart                   // a trailer line, or the CR of the blank line
	trailerName                    //
	trailerValue                   //
	trailerLF                      // the LF of a trailer line
	endLF                          // the LF of the blank line
	chunksEnded
)

// chunked undoes the chunked coding (RFC 9112, 7.1). Extensions and trailers
// are read and dropped. The zero value expects the first chunk.
type chunked struct {
	state chunkState
	left  int64 // data bytes of this chunk still to come
	count int   // digits, extension or trailer bytes so far: each is bounded
}

// decode moves data from src to p, across as many chunks as src holds, until
// one of the two is used up or the body has ended. It returns how many bytes
// it put into p and how many it used of src.
func (d *chunked) decode(p, src []byte) (n, used int, err error) {
	for used < len(src) && d.state != chunksEnded {
		if d.state != inData {
			if err := d.step(src[used]); err != nil {
				return n, used, err
			}
			used++
			continue
		}
		if n == len(p) {
			return n, used, nil
		}
		m := copy(p[n:], src[used:min(int64(len(src)), int64(used)+d.left)])
		n, used, d.left = n+m, used+m, d.left-int64(m)
		if d.left == 0 {
			d.state = dataCR
		}
	}
	return n, used, nil
}

var (
	errSize    = errors.New("chunk size isn't 1 to 15 hexadecimal digits")
	errNoCRLF  = errors.New("CRLF missing in the chunked coding")
	errTrailer = errors.New("bad trailer line")
	errTooMuch = errors.New("chunk extension over 256 bytes, or trailers over 8 KiB")
)

// step takes one byte of the framing.
func (d *chunked) step(b byte) error {
	switch d.state {
	case inSize:
		return d.size(b)
	case inExtension:
		return d.text(b, sizeLF, maxExtension)
	case sizeLF:
		return d.expect(b, '\n', d.afterSize())
	case dataCR:
		return d.expect(b, '\r', dataLF)
	case dataLF:
		d.count = 0
		return d.expect(b, '\n', inSize)
	case trailerStart, trailerName:
		return d.trailer(b)
	case trailerValue:
		return d.text(b, trailerLF, maxTrailer)
	case trailerLF:
		return d.expect(b, '\n', trailerStart)
	}
	return d.expect(b, '\n', chunksEnded)
}

func (d *chunked) expect(b, want byte, next chunkState) error {
	if b != want {
		return errNoCRLF
	}
	d.state = next
	return nil
}

func (d *chunked) size(b byte) error {
	if digit := unhex(b); digit >= 0 {
		d.left, d.count = d.left<<4|digit, d.count+1
		if d.count > maxSizeDigits {
			return errSize
		}
		return nil
	}
	if d.count == 0 {
		return errSize
	}
	d.count = 0
	switch b {
	case '\r':
		d.state = sizeLF
	case ';':
		d.state = inExtension
	default:
		return errSize
	}
	return nil
}

func (d *chunked) afterSize() chunkState {
	d.count = 0
	if d.left == 0 {
		return trailerStart
	}
	return inData
}

// trailer takes a byte of a trailer's name; a CR at the start is the blank line.
func (d *chunked) trailer(b byte) error {
	if d.count++; d.count > maxTrailer {
		return errTooMuch
	}
	switch {
	case isTokenByte(b):
		d.state = trailerName
	case b == '\r' && d.state == trailerStart:
		d.state = endLF
	case b == ':' && d.state == trailerName:
		d.state = trailerValue
	default:
		return errTrailer
	}
	return nil
}

// text takes a byte that is ignored, until the CR.
func (d *chunked) text(b byte, next chunkState, limit int) error {
	if d.count++; d.count > limit {
		return errTooMuch
	}
	if b == '\r' {
		d.state = next
		return nil
	}
	if isControl(b) {
		return errNoCRLF
	}
	return nil
}

// unhex is the value of a hexadecimal digit, or -1.
func unhex(b byte) int64 {
	switch {
	case isDigit(b):
		return int64(b - '0')
	case b >= 'a' && b <= 'f':
		return int64(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return int64(b-'A') + 10
	}
	return -1
}
