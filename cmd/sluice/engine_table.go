//go:build !temporal && !relay

package main

import "errors"

const hasTemporal = false

var errNoTemporal = errors.New("this binary was built without the tag temporal")

func (config) checkTemporal() error { return nil }

func (config) newTemporal() (engine, error) { return nil, errNoTemporal }
