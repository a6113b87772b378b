package config

import (
	"fmt"
	"io"
	"os"
)

// maxFile bounds what is read of a file that the operator names, in bytes. A
// configuration of a thousand replicas is a tenth of it.
const maxFile = 16 * MiB

// readFile reads a whole regular file. A pipe would be waited for, and a device
// such as /dev/zero has no end: both are mistakes, and are said to be.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, int64(maxFile)+1))
	if err != nil {
		return nil, err // names the file
	}
	if len(data) > int(maxFile) {
		return nil, fmt.Errorf("%s is larger than %v", path, maxFile)
	}
	return data, nil
}
