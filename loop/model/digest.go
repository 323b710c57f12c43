package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Digest is a SHA-256 digest. The zero Digest means "none".
type Digest [sha256.Size]byte

// Sum returns the SHA-256 digest of b.
func Sum(b []byte) Digest { return sha256.Sum256(b) }

// SumString returns the SHA-256 digest of the bytes of s without copying s to
// the heap when it is short.
func SumString(s string) Digest {
	h := sha256.New()
	var buf [512]byte
	for len(s) > 0 {
		n := copy(buf[:], s)
		h.Write(buf[:n])
		s = s[n:]
	}
	var d Digest
	h.Sum(d[:0])
	return d
}

// String returns all 64 hex digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Short returns the first 32 hex digits (16 bytes), the form that session lines
// use: collisions stay out of reach (2^64 work) at half the bytes.
func (d Digest) Short() string { return hex.EncodeToString(d[:16]) }

// AppendShort appends what Short returns.
func (d Digest) AppendShort(b []byte) []byte { return hex.AppendEncode(b, d[:16]) }

// IsZero reports whether d is the zero Digest, "none".
func (d Digest) IsZero() bool { return d == Digest{} }

// ParseDigest reads 64 hex digits.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	if len(s) != 2*len(d) {
		return d, fmt.Errorf("a digest has %d hex digits, not %d", 2*len(d), len(s))
	}
	if _, err := hex.Decode(d[:], []byte(s)); err != nil {
		return Digest{}, fmt.Errorf("digest %q: %w", s, err)
	}
	return d, nil
}

// ChainStart is H0 of a request chain: SHA-256("canon/1").
var ChainStart = Sum([]byte(CanonVersion))

// CanonVersion names the canonical form of requests.
const CanonVersion = "canon/1"

// Chain returns H(i) = SHA-256(H(i-1) || len(kind) || kind || len(role) || role
// || digest(part)), lengths as 4-byte big-endian integers.
func Chain(prev Digest, p *Part) Digest {
	var buf [160]byte
	b := append(buf[:0], prev[:]...)
	b = appendPrefixed(b, string(p.Kind))
	b = appendPrefixed(b, string(p.Role))
	b = append(b, p.Digest[:]...)
	return sha256.Sum256(b)
}

func appendPrefixed(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}
