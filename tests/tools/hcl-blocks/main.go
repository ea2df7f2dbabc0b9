// Reads files of OpenTofu or Terraform and prints as JSON what is in them, for our own checks: blocks,
// the text of their attributes, and whether the file is formatted. It evaluates nothing.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

type block struct {
	Type       string            `json:"type"`
	Labels     []string          `json:"labels"`
	Line       int               `json:"line"`
	Attributes map[string]string `json:"attributes"`
	Keys       map[string]keys   `json:"keys"`
	Blocks     []block           `json:"blocks"`
}

// The keys of the objects in an expression, whichever branch of it they come from.
type keys map[string]keys

type file struct {
	Formatted bool  `json:"formatted"`
	Body      block `json:"body"`
}

func (into keys) add(expression hclsyntax.Expression) {
	switch e := expression.(type) {
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			if name := hcl.ExprAsKeyword(item.KeyExpr); name != "" {
				if into[name] == nil {
					into[name] = keys{}
				}
				into[name].add(item.ValueExpr)
			}
		}
	case *hclsyntax.FunctionCallExpr:
		for _, argument := range e.Args {
			into.add(argument)
		}
	case *hclsyntax.ConditionalExpr:
		into.add(e.TrueResult)
		into.add(e.FalseResult)
	case *hclsyntax.ForExpr:
		into.add(e.ValExpr)
	}
}

func read(body *hclsyntax.Body, source []byte) block {
	found := block{Labels: []string{}, Attributes: map[string]string{}, Keys: map[string]keys{}, Blocks: []block{}}
	for name, attribute := range body.Attributes {
		found.Attributes[name] = string(attribute.Expr.Range().SliceBytes(source))
		found.Keys[name] = keys{}
		found.Keys[name].add(attribute.Expr)
	}
	for _, inner := range body.Blocks {
		one := read(inner.Body, source)
		one.Type, one.Labels, one.Line = inner.Type, append(one.Labels, inner.Labels...), inner.TypeRange.Start.Line
		found.Blocks = append(found.Blocks, one)
	}
	return found
}

func main() {
	files := map[string]file{}
	for _, path := range os.Args[1:] {
		source, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		parsed, diagnostics := hclsyntax.ParseConfig(source, path, hcl.InitialPos)
		if diagnostics.HasErrors() {
			fmt.Fprintln(os.Stderr, diagnostics.Error())
			os.Exit(1)
		}
		files[path] = file{
			Formatted: bytes.Equal(source, hclwrite.Format(source)),
			Body:      read(parsed.Body.(*hclsyntax.Body), source),
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(files); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
