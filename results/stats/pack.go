package stats

import "math"

// packed is the columns of a table of scenarios that a draw must add up. Most need
// not be: a column that is the same in every scenario (trials, scenarios) adds up to
// the same in every draw, and pass rates follow from passes where all scenarios have
// as many graded trials.
type packed struct {
	blocks [][]float64 // perBlock columns each, by row; the last is filled up with zeros
	from   []source    // of every column of the table
}

// source says what a column adds up to: the sum of a packed column times by, or by
// itself where kept is negative.
type source struct {
	kept int
	by   float64
}

// perBlock columns are added up at once, so that no addition waits for the last.
const perBlock = 4

// pack finds the columns of n rows that differ.
func pack(rows []float64, n, width int) packed {
	p := packed{from: make([]source, width)}
	kept := 0
	for j := range width {
		// Costs are added up in every draw: a product would round otherwise than the
		// sum of another arm, and arms of equal cost have a ratio of 1.
		if j%sumsOf != costAt && constant(rows, n, width, j) {
			p.from[j] = source{-1, rows[j] * float64(n)}
			continue
		}
		if j%sumsOf == ratesAt && p.from[j-1].kept >= 0 {
			if by := multiple(rows, n, width, j); by > 0 {
				p.from[j] = source{p.from[j-1].kept, by}
				continue
			}
		}
		if kept%perBlock == 0 {
			p.blocks = append(p.blocks, make([]float64, n*perBlock))
		}
		block := p.blocks[kept/perBlock]
		for i := range n {
			block[i*perBlock+kept%perBlock] = rows[i*width+j]
		}
		p.from[j] = source{kept, 1}
		kept++
	}
	return p
}

func constant(rows []float64, n, width, j int) bool {
	for i := range n {
		if rows[i*width+j] != rows[j] {
			return false
		}
	}
	return true
}

// multiple is what column j is of the column before it; 0 if it is no multiple.
func multiple(rows []float64, n, width, j int) float64 {
	by := 0.0
	for i := range n {
		before, at := rows[i*width+j-1], rows[i*width+j]
		if by == 0 && before > 0 {
			by = at / before
		}
		if math.Abs(at-by*before) > sameSize*at {
			return 0
		}
	}
	return by
}

// sums adds up the table's columns, each row as often as times says.
func (p *packed) sums(times []uint16, out []float64) {
	var kept [perBlock]float64
	block := -1
	for j, s := range p.from {
		if s.kept < 0 {
			out[j] = s.by
			continue
		}
		if b := s.kept / perBlock; b != block {
			block, kept = b, addBlock(times, p.blocks[b])
		}
		out[j] = s.by * kept[s.kept%perBlock]
	}
}

func addBlock(times []uint16, block []float64) [perBlock]float64 {
	var a, b, c, d float64
	block = block[:len(times)*perBlock]
	for i, k := range times {
		r := block[i*perBlock : i*perBlock+perBlock : i*perBlock+perBlock]
		t := float64(k)
		a += t * r[0]
		b += t * r[1]
		c += t * r[2]
		d += t * r[3]
	}
	return [perBlock]float64{a, b, c, d}
}
