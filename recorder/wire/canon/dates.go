package canon

import (
	"regexp"
	"strings"
)

const (
	reDay   = `(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?`
	reMonth = `(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)`
	reYear  = `(?:19|20)\d\d`
	reTime  = `\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?[AaPp]\.?[Mm]\.?)?`
	reZone  = `(?: ?(?:Z|UTC|(?:GMT)?[+-]\d\d:?\d\d|[A-Z]{2,4}T)(?: \([A-Z][A-Za-z ]{2,40}\))?)?`
)

// isoDate and namedDate are tried where a date may begin. Longer forms stand
// first, as the leftmost alternative counts.
var (
	isoDate = regexp.MustCompile(`^(?:` + reYear + `-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?` + reZone + `)?` +
		`|` + reYear + `\d{4}T\d{6}(?:\.\d{1,9})?Z?` +
		`|\d{1,2} ` + reMonth + ` ` + reYear + `(?:,? ` + reTime + reZone + `)?)`)
	namedDate = regexp.MustCompile(`^(?:` + reDay + `, ?\d{1,2}[ -]` + reMonth + `[ -](?:` + reYear + `|\d\d)(?: ` + reTime + reZone + `)?` + // RFC 1123, RFC 850
		`|` + reDay + ` ` + reMonth + ` {1,2}\d{1,2} ` + reYear + `(?: ` + reTime + reZone + `)?` + // JavaScript
		`|` + reDay + ` ` + reMonth + ` {1,2}\d{1,2} ` + reTime + reZone + ` ` + reYear + // date(1), ctime
		`|(?:` + reDay + `,? )?` + reMonth + ` \d{1,2}(?:st|nd|rd|th)?,? ` + reYear + `(?:,? (?:at )?` + reTime + reZone + `)?)`)
)

const dateWindow = 96 // bytes; longer than any date

// findDates finds dates that stand as words of their own.
func findDates(s string) (out []strike) {
	for i := 0; i+8 <= len(s); i++ {
		re := dateStart(s, i)
		if re == nil || i > 0 && isWord(s[i-1]) && !escapeBefore(s, i, false) {
			continue
		}
		window := s[i:min(len(s), i+dateWindow)]
		at := re.FindStringIndex(window)
		if at == nil || i+at[1] < len(s) && isWord(s[i+at[1]]) {
			continue
		}
		out = append(out, strike{i, i + at[1], "<date>", "date"})
		i += at[1] - 1
	}
	return out
}

// dateStart tells quickly that no date begins at i, by nil.
func dateStart(s string, i int) *regexp.Regexp {
	switch c := s[i]; {
	case c >= '0' && c <= '9':
		month := s[i+2] // 3 Nov..., 30 Nov...
		if month == ' ' {
			month = s[i+3]
		}
		if s[i+4] == '-' || i+8 < len(s) && s[i+8] == 'T' || month >= 'A' && month <= 'S' { // 2026-..., 20261130T...
			return isoDate
		}
	case c >= 'A' && c <= 'W':
		if strings.Contains("Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", s[i:i+3]) {
			return namedDate
		}
	}
	return nil
}

// findUUIDs finds 8-4-4-4-12 hex digits that stand as words of their own.
func findUUIDs(s string) (out []strike) {
	const size = 36
	for at := 8; at < len(s); {
		k := strings.IndexByte(s[at:], '-')
		if k < 0 {
			break
		}
		at += k + 1
		if i := at - 9; uuidAt(s, i) && (i == 0 || !isWord(s[i-1]) || escapeBefore(s, i, false)) &&
			(i+size == len(s) || !isWord(s[i+size])) {
			out = append(out, strike{i, i + size, "<uuid>", "uuid"})
			at = i + size + 8
		}
	}
	return out
}

func uuidAt(s string, i int) bool {
	if i+36 > len(s) {
		return false
	}
	for k := range 36 {
		switch c := s[i+k]; k {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !isHex(c) {
				return false
			}
		}
	}
	return true
}
