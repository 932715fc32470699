package blocks

import (
	"strings"

	"github.com/slack-go/slack"

	"github.com/snapflame/snapflame/bot"
)

// cells is a table made rectangular and short: rows padded and cut to the
// header, no cell empty (Slack refuses those), all cells together under Slack's
// limit, and what was left out said in a last row.
func cells(t bot.Table, rows int) [][]string {
	cols := min(len(t.Header), maxTableCols)
	rows = min(rows, maxTableRows-2)
	out := make([][]string, 0, len(t.Rows)+1)
	total := 0
	add := func(row []string) bool {
		line := make([]string, cols)
		n := 0
		for i := range line {
			line[i] = empty
			if i < len(row) {
				line[i] = one(row[i], goodCell)
			}
			n += size(line[i])
		}
		if total+n > maxTableChars-200*cols/2 {
			return false
		}
		total += n
		out = append(out, line)
		return true
	}
	add(t.Header)
	for i, r := range t.Rows {
		if i >= rows || !add(r) {
			break
		}
	}
	if left := len(t.Rows) - len(out) + 1; left > 0 {
		add(append([]string{plural(left, "more row")}, make([]string, cols-1)...))
	}
	return out
}

// table is Slack's own table. Column settings always name an alignment: the
// library would send an empty one, which Slack refuses.
func table(t bot.Table, rows int) *slack.TableBlock {
	b := slack.NewTableBlock("")
	grid := cells(t, rows)
	for i := range grid[0] {
		align := slack.ColumnAlignmentLeft
		if i < len(t.Right) && t.Right[i] {
			align = slack.ColumnAlignmentRight
		}
		b.ColumnSettings = append(b.ColumnSettings, slack.ColumnSetting{Align: align, IsWrapped: i == 0})
	}
	for _, r := range grid {
		row := make([]slack.TableCell, len(r))
		for i, c := range r {
			row[i] = slack.NewTableRawTextCell(c)
		}
		b.Rows = append(b.Rows, row)
	}
	return b
}

// grid is a table as preformatted text, columns aligned, at most limit
// characters.
func grid(t bot.Table, rows, limit int) string {
	const widest = 44 // a phone shows about this much before it wraps
	all := cells(t, rows)
	width := make([]int, len(all[0]))
	for _, r := range all {
		for i := range r {
			r[i] = clip(r[i], widest)
			width[i] = max(width[i], len([]rune(r[i])))
		}
	}
	var b strings.Builder
	for n, r := range all {
		var line strings.Builder
		for i, c := range r {
			pad := strings.Repeat(" ", width[i]-len([]rune(c)))
			if i > 0 {
				line.WriteString("  ")
			}
			if i < len(t.Right) && t.Right[i] {
				line.WriteString(pad + c)
			} else {
				line.WriteString(c + pad)
			}
		}
		s := strings.TrimRight(line.String(), " ")
		if b.Len()+len(s)+20 > limit && n > 1 {
			b.WriteString("\n" + plural(len(all)-n, "more row"))
			break
		}
		if n > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(s)
	}
	return clip(b.String(), limit)
}
