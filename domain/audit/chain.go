package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sluicehq/sluice/domain/tenant"
)

// Hash is a SHA-256. The zero value is in front of the first entry.
type Hash [sha256.Size]byte

// String writes it in hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash reads what String writes.
func ParseHash(text string) (h Hash, ok bool) {
	bits, err := hex.DecodeString(text)
	if err != nil || len(bits) != len(h) {
		return h, false
	}
	return Hash(bits), true
}

// digest is what is hashed: texts, each behind its length, so that none can be mistaken for a part of another one.
type digest []byte

func (d digest) texts(all ...string) digest {
	for _, text := range all {
		d = append(d.number(int64(len(text))), text...)
	}
	return d
}

func (d digest) number(n int64) digest { return binary.BigEndian.AppendUint64(d, uint64(n)) }

func (d digest) sum() Hash { return sha256.Sum256(d) }

func (v Value) hash() Hash { return digest(nil).texts(v.Salt, v.Name, v.Old, v.New).sum() }

// isErased says whether only its hash is left.
func (v Value) isErased() bool { return v.Salt == "" && v.Old == "" && v.New == "" }

// saltOf derives the salt of a value from that of its entry, which nobody can tell from it.
func saltOf(entry, value string) string {
	salt := digest(nil).texts(entry, value).sum()
	return hex.EncodeToString(salt[:SaltBytes])
}

// salted are the values with their own salts and hashes.
func (e Entry) salted() []Value {
	if e.Salt == "" {
		return e.Values
	}
	all := make([]Value, len(e.Values))
	for i, v := range e.Values {
		v.Salt = saltOf(e.Salt, v.Name)
		v.Hash = v.hash()
		all[i] = v
	}
	return all
}

// content is all that an entry says, with its values as hashes.
func (e Entry) content(d digest) digest {
	d = d.texts(string(e.ID), string(e.Tenant)).number(e.At.UnixMilli())
	d = d.texts(string(e.ActorKind), e.ActorID, e.Action, e.Target.Kind, e.Target.ID, e.RequestID).number(int64(len(e.Values)))
	for _, v := range e.salted() {
		d = d.texts(v.Name, string(v.Hash[:]))
	}
	return d
}

// Digest is the hash of what an entry says. It stays the same when values are erased.
func (e Entry) Digest() Hash { return e.content(nil).sum() }

// Link is what a chain needs of an entry.
type Link struct {
	ID       ID
	At       time.Time
	Digest   Hash
	Sequence int64 // its place, from 1; 0 until it is sealed
	Hash     Hash  // zero until it is sealed
}

// chained is the hash of an entry at a place behind the one with a hash.
func chained(behind Hash, sequence int64, entry Hash) Hash {
	return digest(nil).texts("sluice audit 2", string(behind[:])).number(sequence).texts(string(entry[:])).sum()
}

// chainedFirst is the same by the formula of earlier development versions.
func (e Entry) chainedFirst(behind Hash) Hash {
	return e.content(digest(nil).texts("sluice audit 1", string(behind[:])).number(e.Sequence)).sum()
}

// Head is where a chain ends, and where what is kept of it begins. It is kept apart from the entries, so that the
// newest cannot vanish unseen.
type Head struct {
	Tenant   tenant.ID // empty for the operator's
	Sequence int64     // of the newest entry, which is how many there have been; 0 for none
	Hash     Hash      // of the newest entry
	Pruned   Anchor
}

// Anchor is the last entry that was removed because it was old.
type Anchor struct {
	Sequence int64 // 0 where nothing was removed
	Hash     Hash
	At       time.Time
}

// Seal puts entries, in their order, at the end of the chain.
func (h *Head) Seal(next []Link) {
	for i := range next {
		h.Sequence++
		h.Hash = chained(h.Hash, h.Sequence, next[i].Digest)
		next[i].Sequence, next[i].Hash = h.Sequence, h.Hash
	}
}

// Prune says that the entry, and all before it, are removed.
func (h *Head) Prune(last Entry) { h.Pruned = Anchor{last.Sequence, last.Hash, last.At} }

// Problem is something that is wrong with a chain.
type Problem struct {
	Sequence int64 // at which place; 0 for the chain as a whole
	Entry    ID    // empty where there is none
	What     string
}

// String says it in one line.
func (p Problem) String() string {
	switch {
	case p.Entry != "":
		return fmt.Sprintf("entry %d (%s): %s", p.Sequence, p.Entry, p.What)
	case p.Sequence > 0:
		return fmt.Sprintf("entry %d: %s", p.Sequence, p.What)
	default:
		return p.What
	}
}

// maxProblems is how many problems are told one by one.
const maxProblems = 100

// Verifier goes through a chain, from its oldest entry to its newest.
type Verifier struct {
	head     Head
	known    *Known // nil for none
	isKnown  bool   // the exported head is an entry
	sequence int64  // of the entry before
	hash     Hash   // of the entry before

	Begins   Anchor    // behind which what is kept begins
	Checked  int64     // entries
	Erased   int64     // values that were erased
	Problems []Problem // the first ones
	Failed   int64     // how many problems there are
}

// Known is where a chain ended, as it was exported.
type Known struct {
	Sequence int64 // 0 where only the hash is known
	Hash     Hash
}

// NewVerifier begins with the head. known is one that was exported earlier, whose entry must still be there; nil for
// none.
func NewVerifier(head Head, known *Known) *Verifier {
	v := &Verifier{head: head, known: known, Begins: head.Pruned, sequence: head.Pruned.Sequence, hash: head.Pruned.Hash}
	v.isKnown = known == nil || known.is(v.sequence, v.hash)
	return v
}

func (k *Known) is(sequence int64, of Hash) bool {
	return k.Hash == of && (k.Sequence == 0 || k.Sequence == sequence)
}

// Retain says from when on all entries should still be there.
func (v *Verifier) Retain(from time.Time) {
	if begins := v.Begins; begins.Sequence > 0 && !begins.At.Before(from) {
		v.fail(0, "", "entries up to %s were removed before their time: the retention has all since %s kept, unless it was shorter before", begins, from.UTC().Format(time.RFC3339))
	}
}

// String says which entry it is.
func (a Anchor) String() string {
	return fmt.Sprintf("entry %d of %s", a.Sequence, a.At.UTC().Format(time.RFC3339))
}

func (v *Verifier) fail(sequence int64, entry ID, format string, args ...any) {
	if v.Failed++; len(v.Problems) < maxProblems {
		v.Problems = append(v.Problems, Problem{sequence, entry, fmt.Sprintf(format, args...)})
	}
}

// Next checks an entry. After a problem it goes on from what the entry says of itself, so that each is told once.
func (v *Verifier) Next(e Entry) {
	v.Checked++
	told := v.checkHashes(e)
	if missing := e.Sequence - v.sequence - 1; missing > 0 {
		v.fail(v.sequence+1, "", "%d missing before entry %d", missing, e.Sequence)
	} else if !told && chained(v.hash, e.Sequence, e.Digest()) != e.Hash && e.chainedFirst(v.hash) != e.Hash {
		v.fail(e.Sequence, e.ID, "it is not what was chained here: it was altered, or stood elsewhere")
	}
	if v.known != nil && v.known.is(e.Sequence, e.Hash) {
		v.isKnown = true
	}
	v.sequence, v.hash = e.Sequence, e.Hash
}

// checkHashes checks values that have hashes of their own, and says whether it told of one.
func (v *Verifier) checkHashes(e Entry) (told bool) {
	if e.Salt != "" {
		return false
	}
	for _, value := range e.Values {
		switch {
		case value.isErased():
			v.Erased++
		case value.hash() != value.Hash:
			v.fail(e.Sequence, e.ID, "%s was altered", value.Name)
			told = true
		}
	}
	return told
}

// Finish compares the end of the chain with its head.
func (v *Verifier) Finish() {
	switch {
	case v.sequence < v.head.Sequence:
		v.fail(v.sequence+1, "", "the newest %d are missing", v.head.Sequence-v.sequence)
	case v.sequence > v.head.Sequence:
		v.fail(0, "", "there are entries behind the end of the chain, which is entry %d", v.head.Sequence)
	case v.hash != v.head.Hash:
		v.fail(v.sequence, "", "it is not the end that was kept")
	}
	switch begins := v.Begins; {
	case v.isKnown:
	case v.known.Sequence > 0 && v.known.Sequence < begins.Sequence:
		v.fail(0, "", "the head %s is older than what is kept, which begins behind %s: use a younger one", v.known.Hash, begins)
	case v.known.Sequence == 0 && begins.Sequence > 0:
		v.fail(0, "", "the head %s is not in the chain: it is older than what is kept, which begins behind %s, or entries were cut off, or altered, since it was exported; with its number it can be told",
			v.known.Hash, begins)
	default:
		v.fail(0, "", "the head %s is not in the chain: entries were cut off, or altered, since it was exported", v.known.Hash)
	}
}

func quote(text string) string {
	quoted, _ := json.Marshal(text) // a text can always be written
	return string(quoted)
}

func unquote(text string) (s string) {
	if json.Unmarshal([]byte(text), &s) != nil {
		return ""
	}
	return s
}
