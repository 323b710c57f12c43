package verify

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/harnessbench/harnessbench/loop/model"
	"github.com/harnessbench/harnessbench/recorder/session"
)

// namedBlob is a content beside the file that a line names.
type namedBlob struct {
	digest  model.Digest
	size    int64
	pointer string // of the field that names it
}

// blobsOf returns the contents that a line names.
func blobsOf(l *session.Line) (out []namedBlob, err error) {
	switch l.Type {
	case session.TypeHeader:
		h, err := l.Header()
		if err != nil {
			return nil, err
		}
		for i, f := range h.Tree {
			if f.Content == nil {
				out = append(out, namedBlob{f.Digest, f.Size, fmt.Sprintf("tree/%d/digest", i)})
			}
		}
	case session.TypeToolResult:
		r, err := l.ToolResult()
		if err != nil {
			return nil, err
		}
		for i, d := range r.Delta {
			if !d.Blob.IsZero() {
				out = append(out, namedBlob{d.Blob, d.Size, fmt.Sprintf("delta/%d/blob", i)})
			}
		}
	case session.TypeWire:
		w, err := l.Wire()
		if err != nil {
			return nil, err
		}
		if !w.Inline && w.Size > 0 {
			out = append(out, namedBlob{w.Blob, w.Size, "blob"})
		}
	}
	return out, nil
}

// maxRemembered bounds the contents of which is remembered that they are sound.
const maxRemembered = 1 << 16

// blobs reads contents beside the file, each once as far as it remembers.
type blobs struct {
	dir  *session.Dir
	seen map[model.Digest]int64 // sound ones and their sizes
	n    int
}

func newBlobs(dir *session.Dir) *blobs {
	return &blobs{dir: dir, seen: map[model.Digest]int64{}}
}

func (b *blobs) count() int { return b.n }

// check reads one content in pieces: it must be there, have the size, and the
// digest that names it. What looks like a secret in it is returned.
func (b *blobs) check(n namedBlob, h *hunt) ([]Finding, error) {
	if size, ok := b.seen[n.digest]; ok && size == n.size {
		return nil, nil
	}
	name := filepath.Join(b.dir.Path(), n.digest.String())
	st, err := os.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", n.digest, plain(err))
	}
	if !st.Mode().IsRegular() || st.Size() != n.size || n.size > session.MaxBlob {
		return nil, fmt.Errorf("blob %s: is no regular file of %d bytes", n.digest, n.size)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", n.digest, plain(err))
	}
	defer f.Close()
	sum := sha256.New()
	found, err := h.stream(io.TeeReader(f, sum))
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", n.digest, plain(err))
	}
	if model.Digest(sum.Sum(nil)) != n.digest {
		return found, fmt.Errorf("blob %s: its content has another digest: the file was changed", n.digest)
	}
	b.n++
	if len(b.seen) < maxRemembered {
		b.seen[n.digest] = n.size
	}
	return found, nil
}

// Pieces in which contents are looked through. They overlap, so that a secret on
// the border of two is found; a private key block is longer than the overlap only
// where it is no key.
const (
	piece   = 1 << 20
	overlap = 16 << 10
)

// stream looks through a content; of each kind of secret it returns one finding.
func (h *hunt) stream(r io.Reader) (out []Finding, err error) {
	buf := make([]byte, 0, piece+overlap)
	told := map[Finding]bool{}
	for {
		n, err := io.ReadFull(r, buf[len(buf):len(buf)+piece])
		buf = buf[:len(buf)+n]
		if n > 0 && has(h.all, buf) {
			if f := h.text(string(buf)); f.Kind != "" && !told[f] {
				told[f] = true
				out = append(out, f)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if len(buf) > overlap {
			buf = buf[:copy(buf, buf[len(buf)-overlap:])]
		}
	}
}

// placed says where findings of a content stand.
func placed(found []Finding, line int, b namedBlob) []Finding {
	for i := range found {
		found[i].Line, found[i].Pointer, found[i].Blob = line, "/"+b.pointer, b.digest.String()
	}
	return found
}

// plain keeps a message free of the machine's paths.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// treeDigest is that of an initial tree, as section 5 of the format says.
func treeDigest(tree []session.TreeFile) model.Digest {
	var b []byte
	for _, f := range tree {
		b = append(b, f.Path...)
		b = fmt.Appendf(b, "\x00%o\x00%d\x00%s\n", f.Mode, f.Size, f.Digest)
	}
	return model.Sum(b)
}
