package fleet

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"sluice/config"
)

// spec is what a configuration says of one replica.
type spec struct {
	pool   string
	key    string
	health config.Health
	dial   dialSpec
}

// dialSpec is the part of a spec that its connections depend on.
type dialSpec struct {
	ca      string // PEM; empty: the system's
	connect time.Duration
	idle    time.Duration
}

// specsOf reads the replicas of a configuration, by address. All problems are
// reported at once.
func specsOf(cfg *config.Config) (map[string]spec, error) {
	specs := make(map[string]spec)
	var problems []error
	for name, pool := range cfg.Pools {
		s, err := specOf(cfg, name, pool)
		if err != nil {
			problems = append(problems, err)
		}
		for i, address := range pool.Replicas {
			if other, taken := specs[address]; taken {
				problems = append(problems, fmt.Errorf(
					"pools.%s.replicas[%d]: %s is in pools.%s.replicas too; list a replica once", name, i, address, other.pool))
			}
			specs[address] = s
		}
	}
	return specs, errors.Join(problems...)
}

func specOf(cfg *config.Config, name string, pool config.Pool) (spec, error) {
	key, err := pool.APIKey.Read()
	if err != nil {
		return spec{}, fmt.Errorf("pools.%s.api_key.%w", name, err)
	}
	ca, err := readCA(pool.CA)
	if err != nil {
		return spec{}, fmt.Errorf("pools.%s.ca: %w", name, err)
	}
	return spec{
		pool: name, key: key, health: cfg.Health,
		dial: dialSpec{ca: ca, connect: cfg.Timeouts.Connect, idle: cfg.Timeouts.IdleReplica},
	}, nil
}

func readCA(file string) (pem string, err error) {
	if file == "" {
		return "", nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err // names the file
	}
	if !x509.NewCertPool().AppendCertsFromPEM(data) {
		return "", fmt.Errorf("%s holds no certificate in PEM form", file)
	}
	return string(data), nil
}

// tlsConfig is for https replicas; nil where the defaults do.
func (d dialSpec) tlsConfig() *tls.Config {
	if d.ca == "" {
		return nil
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(d.ca))
	return &tls.Config{RootCAs: roots}
}
