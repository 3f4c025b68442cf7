package egress_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// zone is a name server that lives in the test. A name's addresses may depend on how
// often it was looked up before. A name that it does not know is loopback.
type zone struct {
	mu      sync.Mutex
	asked   map[string]int
	answers map[string]func(time int) []string
}

func newZone(answers map[string]func(time int) []string) *zone {
	return &zone{asked: make(map[string]int), answers: answers}
}

// always answers the same.
func always(addresses ...string) func(int) []string {
	return func(int) []string { return addresses }
}

// resolver asks the zone over a pipe, so in the framing that DNS has on TCP.
func (z *zone) resolver(t testing.TB) *net.Resolver {
	return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			var length [2]byte
			for {
				if _, err := io.ReadFull(server, length[:]); err != nil {
					return
				}
				question := make([]byte, binary.BigEndian.Uint16(length[:]))
				if _, err := io.ReadFull(server, question); err != nil {
					return
				}
				answer := z.answer(t, question)
				answer = append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)
				if _, err := server.Write(answer); err != nil {
					return
				}
			}
		}()
		return client, nil
	}}
}

const (
	typeA, typeAAAA   = 1, 28
	headerLength      = 12
	flagsAnswer       = 0x8180 // an answer, recursion wanted and had, no error
	flagsUnknownName  = 0x8183
	pointerToQuestion = 0xc00c
)

// answer reads one question and writes the records for it (RFC 1035, §4).
func (z *zone) answer(t testing.TB, question []byte) []byte {
	var labels []string
	at := headerLength
	for question[at] != 0 {
		n := int(question[at])
		labels = append(labels, string(question[at+1:at+1+n]))
		at += n + 1
	}
	name, kind := strings.ToLower(strings.Join(labels, ".")), binary.BigEndian.Uint16(question[at+1:])
	at += 5 // the end of the name, type and class

	var records []byte
	found := uint16(0)
	addresses := z.lookUp(name, kind == typeA)
	for _, text := range addresses {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			t.Errorf("%s has the address %q: %v", name, text, err)
			continue
		}
		if ip.Is4() != (kind == typeA) || kind != typeA && kind != typeAAAA {
			continue
		}
		found++
		records = binary.BigEndian.AppendUint16(records, pointerToQuestion)
		records = binary.BigEndian.AppendUint16(records, kind)
		records = append(records, 0, 1, 0, 0, 0, 0) // class IN, not to be kept
		records = binary.BigEndian.AppendUint16(records, uint16(ip.BitLen()/8))
		records = append(records, ip.AsSlice()...)
	}
	flags := uint16(flagsAnswer)
	if addresses == nil {
		flags = flagsUnknownName
	}
	out := append([]byte(nil), question[:2]...)
	out = binary.BigEndian.AppendUint16(out, flags)
	out = binary.BigEndian.AppendUint16(out, 1)
	out = binary.BigEndian.AppendUint16(out, found)
	out = append(out, 0, 0, 0, 0)
	out = append(out, question[headerLength:at]...)
	return append(out, records...)
}

// lookUp counts the questions of one type, since each look-up asks for two.
func (z *zone) lookUp(name string, counts bool) []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	if counts {
		z.asked[name]++
	}
	if answer, ok := z.answers[name]; ok {
		return answer(max(z.asked[name], 1))
	}
	return []string{"127.0.0.1"}
}
