// Package canon is part of the wire endpoint.
package canon
