package router
