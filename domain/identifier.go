package domain

// An identifier reads prefix_ followed by 26 characters of lower-case Crockford
// base32 that encode a UUIDv7 (the TypeID scheme), so identifiers of one kind
// sort by the time they were made. Making one needs a clock and randomness and is
// therefore not the domain's; checking one is.
const identifierSuffix = 26

// ValidIdentifier says whether id is spelled prefix_ + 26 base32 characters that
// hold 128 bits. A wrong spelling is treated as an identifier that does not
// exist, so nothing else is said about it.
func ValidIdentifier(id, prefix string) bool {
	if len(id) != len(prefix)+1+identifierSuffix || id[:len(prefix)] != prefix || id[len(prefix)] != '_' {
		return false
	}
	suffix := id[len(prefix)+1:]
	if suffix[0] > '7' { // 26 × 5 bits are 130: the first character holds three
		return false
	}
	for i := range len(suffix) {
		c := suffix[i]
		digit := c >= '0' && c <= '9'
		letter := c >= 'a' && c <= 'z' && c != 'i' && c != 'l' && c != 'o' && c != 'u'
		if !digit && !letter {
			return false
		}
	}
	return true
}
