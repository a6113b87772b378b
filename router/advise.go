package router

import "sluice/config"

func Advise(cfg *config.Config) []string { return nil }
