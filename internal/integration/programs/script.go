package main

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/dop251/goja"
	lua "github.com/yuin/gopher-lua"

	"github.com/profguard/profguard/internal/integration/programs/shop"
)

const javaScript = `
function search(body) {
	var order = JSON.parse(body), words = order.text.split(" "), found = [];
	for (var i = 0; i < texts.length; i++) {
		for (var k = 0; k < words.length; k++) {
			var at = texts[i].indexOf(words[k]);
			if (at >= 0) { found.push({name: "item-" + i, score: 100 - at}); break; }
		}
	}
	found.sort(function(a, b) { return b.score - a.score; });
	inspect(body);
	return JSON.stringify({id: order.id, items: found.slice(0, 10)});
}
function tiny() { inspect(""); return "ok"; }
`

// startGoja answers requests in JavaScript.
func startGoja(w work) (string, error) {
	var texts []string
	for _, item := range w.catalogue().Short() {
		texts = append(texts, item.Text)
	}
	script, err := goja.Compile("shop.js", javaScript, true)
	if err != nil {
		return "", err
	}
	machines := sync.Pool{New: func() any {
		vm := goja.New()
		vm.Set("texts", texts)
		vm.Set("inspect", func(body string) { shop.Inspect(shop.Sample) })
		if _, err := vm.RunProgram(script); err != nil {
			panic(err)
		}
		return vm
	}}
	return serveScript(func(function, body string) string {
		vm := machines.Get().(*goja.Runtime)
		defer machines.Put(vm)
		call, _ := goja.AssertFunction(vm.Get(function))
		answer, err := call(goja.Undefined(), vm.ToValue(body))
		if err != nil {
			return err.Error()
		}
		return answer.String()
	})
}

const luaScript = `
function search(body)
	local found = {}
	for i, text in ipairs(texts) do
		local at = string.find(text, "kettle", 1, true)
		if at then found[#found+1] = {name = "item-" .. i, score = 100 - at} end
	end
	table.sort(found, function(a, b) return a.score > b.score end)
	inspect()
	local out = {}
	for i = 1, math.min(10, #found) do out[i] = found[i].name .. ":" .. found[i].score end
	return table.concat(out, ",")
end
function tiny() inspect() return "ok" end
`

// startLua answers requests in Lua.
func startLua(w work) (string, error) {
	catalogue := w.catalogue().Short()
	machines := sync.Pool{New: func() any {
		l := lua.NewState()
		texts := l.NewTable()
		for _, item := range catalogue {
			texts.Append(lua.LString(item.Text))
		}
		l.SetGlobal("texts", texts)
		l.SetGlobal("inspect", l.NewFunction(func(*lua.LState) int {
			shop.Inspect(shop.Sample)
			return 0
		}))
		if err := l.DoString(luaScript); err != nil {
			panic(err)
		}
		return l
	}}
	return serveScript(func(function, body string) string {
		l := machines.Get().(*lua.LState)
		defer machines.Put(l)
		if err := l.CallByParam(lua.P{Fn: l.GetGlobal(function), NRet: 1, Protect: true}, lua.LString(body)); err != nil {
			return err.Error()
		}
		defer l.Pop(1)
		return l.ToString(-1)
	})
}

// serveScript answers requests by calling the function of the request's path.
func serveScript(call func(function, body string) string) (string, error) {
	return serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		io.WriteString(w, call(strings.TrimPrefix(r.URL.Path, "/"), string(body)))
	}))
}
