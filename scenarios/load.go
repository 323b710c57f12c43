package scenarios

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a scenario's files.
const (
	MaxFiles     = 2000
	MaxFileBytes = 8 << 20
	MaxBytes     = 64 << 20 // all files, generated ones included
	maxPath      = 240
)

// The names of a scenario's parts.
const (
	fileYAML        = "scenario.yaml"
	fileInstruction = "instruction.md"
	fileOracle      = "oracle.yaml"
	fileReadme      = "README.md" // for people; no part of the scenario
	dirWorkspace    = "workspace/"
	dirGraders      = "graders/"
)

// Load reads the scenario folder, or the .txtar archive, at a path. Errors name
// the file and say what to do.
func Load(name string) (*Scenario, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("%s: no scenario there; name a folder with a %s, or a .txtar archive: %w", name, fileYAML, errors.Unwrap(err))
	}
	if info.IsDir() {
		root, err := os.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = root.Close() }()
		return LoadFS(root.FS(), name)
	}
	if !info.Mode().IsRegular() || filepath.Ext(name) != ".txtar" {
		return nil, fmt.Errorf("%s: this is no scenario; name a folder with a %s, or a .txtar archive", name, fileYAML)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return LoadTxtar(name, data)
}

// LoadFS reads the scenario whose folder is the root of fsys. name stands for it
// in messages.
func LoadFS(fsys fs.FS, name string) (*Scenario, error) {
	var files []File
	total := int64(0)
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", path.Join(name, p), err)
		}
		if d.IsDir() {
			return nil
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s: not a regular file (%s); scenarios hold plain files and folders only", path.Join(name, p), kindOf(d.Type()))
		}
		if len(files) >= MaxFiles {
			return fmt.Errorf("%s: more than %d files; remove some", name, MaxFiles)
		}
		data, err := readLimited(fsys, p)
		if err != nil {
			return fmt.Errorf("%s: %w", path.Join(name, p), err)
		}
		if total += int64(len(data)); total > MaxBytes {
			return fmt.Errorf("%s: more than %d bytes in all; remove some, or generate them", name, MaxBytes)
		}
		files = append(files, File{p, data})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return assemble(name, files)
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

func readLimited(fsys fs.FS, p string) ([]byte, error) {
	f, err := fsys.Open(p)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file; scenarios hold plain files and folders only")
	case hardLinked(info):
		return nil, errors.New("a hard link, whose other name may be anywhere; copy the file instead")
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err == nil && len(data) > MaxFileBytes {
		err = fmt.Errorf("larger than %d bytes; shorten it, or generate it", MaxFileBytes)
	}
	return data, err
}

// LoadTxtar reads a scenario from a txtar archive. name stands for it in
// messages. The archive's comment is for people.
func LoadTxtar(name string, data []byte) (*Scenario, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%s: more than %d bytes; remove some, or generate them", name, MaxBytes)
	}
	files := parseTxtar(data)
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no file in the archive; a file begins with a line like -- %s --", name, fileYAML)
	}
	if len(files) > MaxFiles {
		return nil, fmt.Errorf("%s: more than %d files; remove some", name, MaxFiles)
	}
	for _, f := range files {
		if len(f.Data) > MaxFileBytes {
			return nil, fmt.Errorf("%s: %s is larger than %d bytes; shorten it, or generate it", name, shown(f.Path), MaxFileBytes)
		}
	}
	return assemble(name, files)
}

// assemble sorts the files of either form into a scenario.
func assemble(name string, files []File) (*Scenario, error) {
	files = slices.DeleteFunc(files, func(f File) bool { return f.Path == fileReadme })
	sort.SliceStable(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	s := &Scenario{Source: name, Digest: digest(files)}
	var desc []byte
	for i, f := range files {
		if err := checkName(f.Path); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, shown(f.Path), err)
		}
		if i > 0 && files[i-1].Path == f.Path {
			return nil, fmt.Errorf("%s: %s is there twice; remove one", name, shown(f.Path))
		}
		if i > 0 && strings.HasPrefix(f.Path, files[i-1].Path+"/") {
			return nil, fmt.Errorf("%s: %s is a file and a folder; rename one", name, shown(files[i-1].Path))
		}
		switch {
		case f.Path == fileYAML:
			desc = f.Data
		case f.Path == fileInstruction:
			s.Instruction = strings.TrimSpace(string(f.Data))
		case f.Path == fileOracle:
			s.Oracle, s.OracleName = f.Data, path.Join(name, fileOracle)
		case strings.HasPrefix(f.Path, dirWorkspace):
			s.Files = append(s.Files, File{f.Path[len(dirWorkspace):], f.Data})
		case strings.HasPrefix(f.Path, dirGraders):
			s.GraderFiles = append(s.GraderFiles, File{f.Path[len(dirGraders):], f.Data})
		default:
			return nil, fmt.Errorf("%s: %s is no part of a scenario; move it below workspace/ or graders/, or remove it (parts: %s, %s, %s, %s)",
				name, shown(f.Path), fileYAML, fileInstruction, fileOracle, fileReadme)
		}
	}
	if desc == nil {
		return nil, fmt.Errorf("%s: %s is missing; every scenario has one", name, fileYAML)
	}
	if s.Instruction == "" {
		return nil, fmt.Errorf("%s: %s is missing or empty; write the task in it", name, fileInstruction)
	}
	if !utf8.ValidString(s.Instruction) {
		return nil, fmt.Errorf("%s: %s is not valid UTF-8; save it as UTF-8", name, fileInstruction)
	}
	if err := s.decode(path.Join(name, fileYAML), desc); err != nil {
		return nil, err
	}
	return s, nil
}

// checkName refuses names that mean something else on another system, or that
// leave the folder.
func checkName(p string) error {
	switch {
	case len(p) > maxPath:
		return fmt.Errorf("the name has %d bytes, the limit is %d; shorten it", len(p), maxPath)
	case !utf8.ValidString(p):
		return errors.New("the name is not valid UTF-8; rename the file")
	case strings.ContainsAny(p, `\:*?"<>|`):
		return errors.New(`the name holds one of \ : * ? " < > |; rename the file`)
	case strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("the name holds a control character; rename the file")
	case strings.HasPrefix(p, "/"):
		return errors.New("the name is absolute; names are relative to the scenario")
	case !fs.ValidPath(p) || p == ".":
		return errors.New("the name leaves the folder or is not plain; write it without . and .. and double slashes")
	case strings.HasPrefix(p, dirWorkspace+".harness/") || p == dirWorkspace+".harness":
		return errors.New("workspace/.harness belongs to the harness; use another folder")
	}
	return nil
}

// shown makes a hostile name safe to print.
func shown(p string) string {
	if len(p) > maxPath {
		p = p[:maxPath] + "..."
	}
	p = strings.ToValidUTF8(p, "?")
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, p)
}

// digest names a set of files: SHA-256 over a prefix and, sorted by path, the
// length of each path, the path, the length of its content and the content
// (lengths as 8-byte big-endian integers).
func digest(files []File) string {
	h := sha256.New()
	h.Write([]byte("harnessbench/scenario/1"))
	var n [8]byte
	put := func(b []byte) {
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	for _, f := range files {
		put([]byte(f.Path))
		put(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}
