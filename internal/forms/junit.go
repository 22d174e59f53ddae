package forms

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"

	"github.com/profguard/profguard/internal/pattern"
)

// A Suite is a report of JUnit, with what CI systems read of it.
type Suite struct {
	Name  string
	Took  time.Duration
	Cases []Case
}

// A Case is one of a suite. If it has neither Failed nor Skipped, it passed.
type Case struct {
	Class, Name string
	Took        time.Duration
	Failed      bool
	Skipped     bool
	Message     string // why it failed or was skipped
	Text        string // more about a failure
	Out         string // what it printed
}

// The elements of a report.
type (
	suite struct {
		XMLName  xml.Name `xml:"testsuite"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Time     string   `xml:"time,attr"`
		Cases    []testcase
	}
	testcase struct {
		XMLName xml.Name `xml:"testcase"`
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Time    string   `xml:"time,attr"`
		Failure *said    `xml:"failure,omitempty"`
		Skipped *said    `xml:"skipped,omitempty"`
		Out     string   `xml:"system-out,omitempty"`
	}
	said struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// Write writes the report.
func (s *Suite) Write(w io.Writer) error {
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
	report := suite{Name: s.Name, Tests: len(s.Cases), Time: seconds(s.Took)}
	for _, c := range s.Cases {
		one := testcase{Class: c.Class, Name: pattern.Visible(c.Name), Time: seconds(c.Took), Out: c.Out}
		switch {
		case c.Failed:
			report.Failures++
			one.Failure = &said{c.Message, c.Text}
		case c.Skipped:
			report.Skipped++
			one.Skipped = &said{Message: c.Message}
		}
		report.Cases = append(report.Cases, one)
	}
	text, err := xml.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}
