package page

import (
	"fmt"
	"strconv"
	"strings"
)

// A Path leads to a frame of a flame graph: at each step the rank of the frame
// among all that its caller calls, the costliest being 0. It means the same as
// long as the profile is the same.
type Path []int

// ParsePath reads what [Path.String] wrote.
func ParsePath(text string) (Path, error) {
	if text == "" {
		return nil, nil
	}
	steps := strings.Split(text, ".")
	if len(steps) > maxDepth {
		return nil, fmt.Errorf("flame graph path: expected at most %d steps, found %d", maxDepth, len(steps))
	}
	var p Path
	for _, s := range steps {
		// No profile that is decoded has more than 500,000 different frames.
		rank, err := strconv.ParseUint(s, 10, 20)
		if err != nil {
			return nil, fmt.Errorf("flame graph path: expected numbers with dots between them, such as 0.2.1, found %.40q", text)
		}
		p = append(p, int(rank))
	}
	return p, nil
}

// String is the path as part of a URL: "0.2.1".
func (p Path) String() string {
	steps := make([]string, len(p))
	for i, rank := range p {
		steps[i] = strconv.Itoa(rank)
	}
	return strings.Join(steps, ".")
}
