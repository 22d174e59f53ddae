package charge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/charge"
)

// TestOwner: the function that makes an offender expensive is the outermost own function below the
// way in with nine tenths of it. There is none where callers differ, and where that is the function
// that is blamed.
func TestOwner(t *testing.T) {
	const (
		serve = "net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;"
		debug = serve + "main.(*server).debugState@debug.go:10;"
		get   = "main.(*Store).Get@store.go:33;strings.Repeat;strings.(*Builder).Grow "
		rest  = serve + "main.(*server).list@list.go:5;strings.Split 300\n"
	)
	deep := strings.Repeat("main.(*Store).Get;", charge.CPUDepth-1) + "strings.Repeat "
	for name, test := range map[string]struct{ text, want string }{
		"a handler":              {debug + get + "95\n" + serve + "main.(*server).get;" + get + "5\n" + rest, "main.(*server).debugState debug.go:10 95"},
		"three handlers":         {debug + get + "40\n" + serve + "main.(*server).get;" + get + "30\n" + serve + "main.(*server).feed;" + get + "30\n" + rest, ""},
		"less than nine tenths":  {debug + get + "89\n" + serve + "main.(*server).get;" + get + "11\n" + rest, ""},
		"a handler has all work": {debug + get + "95\n" + debug + "strings.Split 30\n", "main.(*server).debugState debug.go:10 95"},
		"the costliest line":     {debug + get + "30\n" + strings.Replace(debug, ":10", ":12", 1) + get + "70\n" + rest, "main.(*server).debugState debug.go:12 100"},
		"the outermost one":      {debug + "main.(*server).state@debug.go:30;" + get + "100\n" + rest, "main.(*server).debugState debug.go:10 100"},
		"the caller is blamed":   {debug + "strings.Repeat 100\n" + rest, ""},
		"the offender is own":    {debug + "main.render@render.go:4 100\n" + rest, "main.(*server).debugState debug.go:10 100"},
		"a wrapper of all handlers, and one of them": {
			serve + "main.handle.func1@handle.go:5;main.(*server).debugState@debug.go:10;" + get + "95\n" + serve + "main.handle.func1;main.(*server).get;" + get + "5\n" + serve + "main.handle.func1;main.(*server).list;strings.Split 300\n",
			"main.(*server).debugState debug.go:10 95"},
		"a wrapper of all handlers, and three of them": {
			serve + "main.handle.func1;main.(*server).debugState;" + get + "40\n" + serve + "main.handle.func1;main.(*server).get;" + get + "30\n" + serve + "main.handle.func1;main.(*server).feed;" + get + "30\n" + serve + "main.handle.func1;main.(*server).list;strings.Split 300\n",
			""},
		"a wrapper of all handlers, and the caller is blamed": {
			serve + "main.handle.func1;main.(*server).debugState;strings.Repeat 100\n" + serve + "main.handle.func1;main.(*server).debugState;strings.Split 200\n" + serve + "main.handle.func2;main.(*server).list;strings.Split 100\n", ""},
		"a wrapper of the only handler, and the caller is blamed": {
			serve + "main.handle.func1;main.(*server).list;strings.Repeat 100\n" + serve + "main.handle.func1;main.(*server).list;strings.Split 300\n", ""},
		"literals belong to their function": {
			debug + get + "50\n" + serve + "main.(*server).debugState.func1@debug.go:20;" + get + "30\n" + serve + "main.(*server).debugState.func2@debug.go:30;" + get + "20\n" + rest,
			"main.(*server).debugState debug.go:10 100"},
		"a literal that own code passes on": {debug + "sort.Slice;main.(*server).debugState.func1@debug.go:14;" + get + "100\n" + rest, "main.(*server).debugState debug.go:10 100"},
		"instances belong to their generic": {
			serve + "main.Each[go.shape.int]@each.go:3;" + get + "50\n" + serve + "main.Each[go.shape.string]@each.go:3;" + get + "50\n" + rest,
			"main.Each each.go:3 100"},
		"recursion":                        {debug + "main.(*server).debugState@debug.go:11;main.(*server).debugState@debug.go:11;" + get + "100\n" + rest, "main.(*server).debugState debug.go:10 100"},
		"recursion of the blamed function": {serve + "main.(*Store).Get@store.go:40;" + get + "100\n" + rest, ""},
		"a goroutine of own code":          {"main.(*server).poll@poll.go:5;main.(*server).refresh@poll.go:9;" + get + "100\nmain.main;main.run;strings.Split 300\n", "main.(*server).refresh poll.go:9 100"},
		"main.main is the way in":          {"main.main@main.go:5;" + get + "100\nmain.main;main.list;strings.Split 300\n", ""},
		"what a program does all the time": {"main.main;main.run@main.go:7;" + get + "100\nmain.main;main.run;main.list;strings.Split 300\n", ""},
		"a job of a program":               {"main.main;main.run@main.go:7;main.export@export.go:3;" + get + "100\nmain.main;main.run;main.list;strings.Split 300\n", "main.export export.go:3 100"},
		"a test":                           {"testing.tRunner;main.TestGet@get_test.go:5;example.com/check.Run@/mod/example.com/check@v1.0.0/run.go:1;main.TestGet.func1@get_test.go:7;" + get + "100\n", ""},
		"what a test calls":                {"main.TestGet.func1@get_test.go:7;main.call@get_test.go:8;main.(*server).debugState@debug.go:10;" + get + "100\n" + rest, ""},
		"methods that fmt calls, and generated code": {
			serve + "main.(*Note).Encode@note.pb.go:7;fmt.Sprint;main.Note.String@note.go:3;" + get + "100\n" + rest, ""},
		"stacks that were cut off": {deep + "20\n" + debug + get + "80\n" + rest, ""},
		"a few that were cut off":  {deep + "5\n" + debug + get + "95\n" + rest, "main.(*server).debugState debug.go:10 95"},
	} {
		t.Run(name, func(t *testing.T) {
			explain, list := offenders(t, "cpu\n"+test.text, "", 0.15)
			if !slices.Contains(list, "strings.Repeat") && !slices.Contains(list, "main.render") {
				t.Fatalf("the offenders are %v", list)
			}
			got := ""
			for i, e := range explain() {
				if f := e.Owner; (list[i] == "strings.Repeat" || list[i] == "main.render") && f.Function != "" {
					got = f.Function + " " + place(f)
				}
			}
			if got != test.want {
				t.Errorf("the owner is %q, want %q, of %v", got, test.want, list)
			}
		})
	}
}

func place(f charge.Frame) string { return fmt.Sprintf("%s:%d %d", f.File, f.Line, f.Value/1e7) }
