package disk

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
)

// LineOverhead is how much longer a line of [AppendLine] is than its payload.
const LineOverhead = checksumDigits + 2

const checksumDigits = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendLine appends a line of a journal: the checksum of the payload, a space, the payload,
// which has no line feed, and a line feed. What a crash leaves of a line has a wrong checksum.
func AppendLine(dst, payload []byte) []byte {
	return fmt.Appendf(dst, "%0*x %s\n", checksumDigits, crc32.Checksum(payload, castagnoli), payload)
}

// LinePayload returns the payload of a line without its line feed.
func LinePayload(line []byte) ([]byte, error) {
	sum, payload, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(sum) != checksumDigits {
		return nil, errors.New("no checksum")
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || uint32(want) != crc32.Checksum(payload, castagnoli) {
		return nil, errors.New("wrong checksum")
	}
	return payload, nil
}
