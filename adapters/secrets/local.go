package secrets

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/sluicehq/sluice/ports/outbound"
)

// keySize is the length of a key in bytes: that of AES-256.
const keySize = 32

// Local wraps keysets by a key that the process was given. It implements outbound.KeyWrapper.
type Local struct{ keys []cipher.AEAD } // the first wraps, all unwrap

var _ outbound.KeyWrapper = (*Local)(nil)

// GenerateKey returns a fresh key as [ParseKey] reads it.
func GenerateKey() string {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails, or ends the process
	return base64.StdEncoding.EncodeToString(key)
}

// ErrMalformedKey is what is said of a text that is no key. It does not hold the text.
var ErrMalformedKey = errors.New("must be 32 bytes in base64, such as sluice secrets generate-key prints")

// ParseKey reads a key, 32 bytes in base64, or several with commas or white space between them: the first wraps, and
// all unwrap.
func ParseKey(text string) (*Local, error) {
	l := new(Local)
	for one := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		key, err := parseKey(one)
		if err != nil {
			return nil, err
		}
		l.keys = append(l.keys, key)
	}
	if len(l.keys) == 0 {
		return nil, ErrMalformedKey
	}
	return l, nil
}

func parseKey(text string) (cipher.AEAD, error) {
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(key) != keySize {
		return nil, ErrMalformedKey
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// purpose keeps what a key wraps from being taken for something else that the same key encrypts.
var purpose = []byte("sluice keyset")

// Wrap encrypts a keyset.
func (l *Local) Wrap(_ context.Context, keyset []byte) ([]byte, error) {
	return l.keys[0].Seal(nil, nil, keyset, purpose), nil
}

// Unwrap decrypts a keyset.
func (l *Local) Unwrap(_ context.Context, wrapped []byte) ([]byte, error) {
	for _, key := range l.keys {
		if keyset, err := key.Open(nil, nil, wrapped, purpose); err == nil {
			return keyset, nil
		}
	}
	return nil, outbound.ErrWrongKey
}

// KeyFile reads the key in a file. With create a file that is missing is written, readable by the owner only; of several
// processes that do so at the same time one writes it. Else it is fs.ErrNotExist.
func KeyFile(path string, create bool) (*Local, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := writeKeyFile(path); err != nil {
			return nil, fmt.Errorf("make the key file: %w", err)
		}
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the key file: %w", err)
	}
	key, err := ParseKey(string(text))
	if err != nil {
		return nil, fmt.Errorf("the key file %s %w", path, err)
	}
	return key, nil
}

// writeKeyFile writes a key file as a whole or not at all, and leaves one that is there as it is.
func writeKeyFile(path string) error {
	folder := filepath.Dir(path)
	temporary, err := os.CreateTemp(folder, filepath.Base(path)+".*") // with the mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.WriteString(GenerateKey() + "\n")
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(folder)
}

// syncFolder has a new name in a folder survive a power cut.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = folder.Sync() // not every system can
	return folder.Close()
}
