package ablations

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/harnessbench/harnessbench/loop/model/cache"
)

// CacheFile names the answers that a run's response cache had when the run began: a
// line with a key for each. A run that is taken up reads those and no others.
const CacheFile = "response-cache.keys"

// OpenCache opens the response cache of a run: the store in the folder cacheDir, as
// it stands when the run in runDir begins, or stood when it began. Empty is none. A
// run that began with a cache is taken up with one, and one that began without is
// not.
func OpenCache(runDir, cacheDir string, resume bool) (cache.Store, error) {
	path := filepath.Join(runDir, CacheFile)
	if resume {
		return reopenCache(path, cacheDir)
	}
	if cacheDir == "" {
		return nil, nil
	}
	store, err := cache.Open(cacheDir)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, k := range store.Keys() {
		fmt.Fprintln(&b, k)
	}
	if err := writeFile(path, b.Bytes()); err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	return store, nil
}

func reopenCache(path, cacheDir string) (cache.Store, error) {
	info, err := os.Lstat(path)
	there := err == nil
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case there && cacheDir == "":
		return nil, errors.New("the run began with a response cache; name its folder again: --response-cache DIR")
	case !there && cacheDir != "":
		return nil, errors.New("the run began without a response cache, and goes on without one; leave --response-cache out")
	case !there:
		return nil, nil
	}
	const line = 65
	if !info.Mode().IsRegular() || info.Size()%line != 0 || info.Size() > cache.MaxEntries*line {
		return nil, fmt.Errorf("%s is no list of keys", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(cacheDir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder of a response cache", cacheDir)
	}
	var keys []cache.Key
	for text := range bytes.Lines(data) {
		k, err := cache.ParseKey(string(bytes.TrimSuffix(text, []byte("\n"))))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		keys = append(keys, k)
	}
	return cache.OpenAt(cacheDir, keys), nil
}
