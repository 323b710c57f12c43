package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/harnessbench/harnessbench/loop/model"
)

// The two modes that a file can have. Of the permission bits only "executable by
// its owner" has a meaning; everything else depends on the machine's umask and
// is dropped, so that trees are equal across machines.
const (
	ModeFile uint32 = 0o644
	ModeExec uint32 = 0o755
)

// NormMode maps permission bits to ModeFile or ModeExec.
func NormMode(mode uint32) uint32 {
	if mode&0o100 != 0 {
		return ModeExec
	}
	return ModeFile
}

// TreeDigest is the digest of a tree: SHA-256 over the concatenation, in order
// of the paths' bytes, of one record for each entry:
//
//	path NUL mode NUL size NUL digest LF
//
// with the mode as octal digits without a leading zero ("644", "755"), the size
// as decimal digits and the content's digest as 64 lower-case hex digits. A path
// holds no NUL, so the form is unambiguous. The empty tree has SHA-256 of
// nothing. The entries are not changed and may come in any order.
func TreeDigest(entries []Entry) model.Digest {
	if !slices.IsSortedFunc(entries, byPath) {
		entries = slices.Clone(entries)
		slices.SortFunc(entries, byPath)
	}
	h := sha256.New()
	b := make([]byte, 0, 256)
	for i := range entries {
		e := &entries[i]
		b = append(b[:0], e.Path...)
		b = append(b, 0)
		b = strconv.AppendUint(b, uint64(e.Mode), 8)
		b = append(b, 0)
		b = strconv.AppendInt(b, e.Size, 10)
		b = append(b, 0)
		b = hex.AppendEncode(b, e.Digest[:])
		b = append(b, '\n')
		h.Write(b)
	}
	var d model.Digest
	h.Sum(d[:0])
	return d
}

func byPath(a, b Entry) int { return strings.Compare(a.Path, b.Path) }
