package blk

import (
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/segstore/segstore/tools/chain"
)

// KeyFile is the name of the file beside block files that holds their key.
const KeyFile = "xor.dat"

// Key is what Core obfuscates block files with: byte i of a file is XORed with byte i mod 8 of the key. The zero Key
// means not obfuscated.
type Key [8]byte

// ParseKey reads 16 hex digits.
func ParseKey(s string) (Key, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(Key{}) {
		return Key{}, fmt.Errorf("blk: key %q is not 16 hex digits", s)
	}
	return Key(b), nil
}

// String returns the key in hex.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// xor obfuscates b, which lies at offset off of the file, or takes the obfuscation off.
func (k Key) xor(b []byte, off int64) {
	if k == (Key{}) {
		return
	}
	var pad [1024]byte // subtle.XORBytes runs at memory speed, but not over eight bytes
	for i := range len(k) {
		pad[i] = k[(off+int64(i))&7]
	}
	word := binary.LittleEndian.Uint64(pad[:])
	for i := 8; i < min(len(pad), len(b)); i += 8 {
		binary.LittleEndian.PutUint64(pad[i:], word)
	}
	for len(b) > 0 {
		n := subtle.XORBytes(b, b, pad[:])
		b = b[n:]
	}
}

// readKey reads a key file.
func readKey(f chain.File) (Key, error) {
	r, err := f.Open()
	if err != nil {
		return Key{}, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, int64(len(Key{}))+1))
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", f.Name, err)
	}
	if len(b) != len(Key{}) {
		return Key{}, &chain.InputError{File: f.Name, Want: "a key of 8 bytes", Err: fmt.Errorf("%d bytes or more", len(b))}
	}
	return Key(b), nil
}

// findKey returns the key of block file f: that of a key file of the same folder among files, else that of the file
// xor.dat beside it on the disk, else zero.
func findKey(f chain.File, files []chain.File) (Key, error) {
	folder := func(name string) string { return path.Dir(strings.ReplaceAll(name, `\`, "/")) }
	for _, k := range files {
		if k.Base() == KeyFile && folder(k.Name) == folder(f.Name) {
			return readKey(k)
		}
	}
	k, err := chain.OSFile(filepath.Join(filepath.Dir(f.Name), KeyFile))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // f may be no file of the operating system
		return Key{}, nil
	case err != nil:
		return Key{}, err
	}
	return readKey(k)
}
