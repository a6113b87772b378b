package config

// Bytes is a size in bytes. In the file it is a number with an optional unit:
// 512, 64KiB, 32MiB, 1GiB.
type Bytes int64
