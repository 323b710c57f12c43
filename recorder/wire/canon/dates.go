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

// isoDates and namedDates are tried in turn where a date may begin; the first that
// fits counts, so longer forms stand first. Each is small enough for the fast
// matcher of package regexp: one for all would not be.
var (
	isoDates = []*regexp.Regexp{
		regexp.MustCompile(`^` + reYear + `-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?` + reZone + `)?`),
		regexp.MustCompile(`^` + reYear + `\d{4}T\d{6}(?:\.\d{1,9})?Z?`),
		regexp.MustCompile(`^\d{1,2} ` + reMonth + ` ` + reYear + `(?:,? ` + reTime + reZone + `)?`),
	}
	namedDates = []*regexp.Regexp{
		regexp.MustCompile(`^` + reDay + `, ?\d{1,2}[ -]` + reMonth + `[ -](?:` + reYear + `|\d\d)(?: ` + reTime + reZone + `)?`), // RFC 1123, RFC 850
		regexp.MustCompile(`^` + reDay + ` ` + reMonth + ` {1,2}\d{1,2} ` + reYear + `(?: ` + reTime + reZone + `)?`),             // JavaScript
		regexp.MustCompile(`^` + reDay + ` ` + reMonth + ` {1,2}\d{1,2} ` + reTime + reZone + ` ` + reYear),                       // date(1), ctime
		regexp.MustCompile(`^(?:` + reDay + `,? )?` + reMonth + ` \d{1,2}(?:st|nd|rd|th)?,? ` + reYear + `(?:,? (?:at )?` + reTime + reZone + `)?`),
	}
)

const dateWindow = 96 // bytes; longer than any date

// findDates finds dates that stand as words of their own.
func findDates(s string) (out []strike) {
	for i := 0; i+8 <= len(s); i++ {
		forms := dateStart(s, i)
		if forms == nil || i > 0 && isWord(s[i-1]) && !escapeBefore(s, i, false) {
			continue
		}
		n := dateLength(s[i:min(len(s), i+dateWindow)], forms)
		if n == 0 || i+n < len(s) && isWord(s[i+n]) {
			continue
		}
		out = append(out, strike{i, i + n, "<date>", "date"})
		i += n - 1
	}
	return out
}

func dateLength(window string, forms []*regexp.Regexp) int {
	for _, re := range forms {
		if at := re.FindStringIndex(window); at != nil {
			return at[1]
		}
	}
	return 0
}

// dateStart tells quickly that no date begins at i, by nil.
func dateStart(s string, i int) []*regexp.Regexp {
	switch c := s[i]; {
	case c >= '0' && c <= '9':
		month := s[i+2] // 3 Nov..., 30 Nov...
		if month == ' ' {
			month = s[i+3]
		}
		if s[i+4] == '-' || i+8 < len(s) && s[i+8] == 'T' || month >= 'A' && month <= 'S' { // 2026-..., 20261130T...
			return isoDates
		}
	case c >= 'A' && c <= 'W':
		if strings.Contains("Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", s[i:i+3]) {
			return namedDates
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
