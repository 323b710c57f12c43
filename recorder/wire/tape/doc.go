// Package tape is part of the wire endpoint.
package tape
