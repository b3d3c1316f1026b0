// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package validatecel

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/validator"
)

type celRules struct {
	matches   []celProgram
	variables []celProgram
	rules     []celRule
}

type celRule struct {
	celValidation
	test    celProgram
	message *celProgram // nil without a messageExpression
}

type celProgram struct {
	name    string // the variable that it is the value of
	place   string // the location in the functionConfig
	kind    *cel.Type
	program cel.Program
}

// Kubernetes' limits: the cost of one expression, and the number of steps between checks of the context.
const (
	celCost          = 1_000_000
	celInterruptRate = 100
)

var celIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// compileCEL compiles all expressions. The errors are of all expressions that do not compile, with their locations.
func compileCEL(config celConfig) (celRules, []error) {
	env, err := celEnv()
	if err != nil {
		return celRules{}, []error{fmt.Errorf("prepare CEL: %w", err)}
	}
	compiler := celCompiler{env: env}
	var compiled celRules
	for i, variable := range config.Variables {
		place := celPlace("variables", i, variable.Name)
		compiled.variables = append(compiled.variables, compiler.variable(place, variable))
	}
	for i, condition := range config.MatchConditions {
		place := celPlace("matchConditions", i, condition.Name)
		compiled.matches = append(compiled.matches, compiler.compile(place, condition.Expression, cel.BoolType))
	}
	for _, validation := range config.Validations {
		rule := celRule{celValidation: validation}
		rule.test = compiler.compile(rule.place, rule.Expression, cel.BoolType)
		if rule.MessageExpression != "" {
			message := compiler.compile(rule.place+" messageExpression", rule.MessageExpression, cel.StringType)
			rule.message = &message
		}
		compiled.rules = append(compiled.rules, rule)
	}
	return compiled, compiler.errs
}

// celCompiler compiles expressions one after the other and collects errors.
type celCompiler struct {
	env  *cel.Env
	errs []error
}

func (c *celCompiler) fail(place, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("functionConfig: %s: %w", place, fmt.Errorf(format, args...)))
}

// variable compiles a variable's expression and makes the variable available to later expressions.
func (c *celCompiler) variable(place string, variable celExpression) celProgram {
	if !celIdentifier.MatchString(variable.Name) {
		c.fail(place, "name is %q: want letters, digits and underscores", variable.Name)
		return celProgram{}
	}
	program := c.compile(place, variable.Expression, nil)
	program.name = "variables." + variable.Name
	kind := program.kind
	if kind == nil { // it did not compile; expressions that use it must not fail for that
		kind = cel.DynType
	}
	env, err := c.env.Extend(cel.Variable(program.name, kind))
	if err != nil {
		c.fail(place, "%s", nodes.OneLine(err))
		return celProgram{}
	}
	c.env = env
	return program
}

// compile compiles an expression of type want, or of any type if want is nil.
func (c *celCompiler) compile(place, expression string, want *cel.Type) celProgram {
	if strings.TrimSpace(expression) == "" {
		c.fail(place, "expression must not be empty")
		return celProgram{}
	}
	ast, issues := c.env.Compile(expression)
	if issues.Err() != nil {
		for _, issue := range issues.Errors() {
			c.fail(place, "line %d, column %d: %s", issue.Location.Line(), issue.Location.Column()+1, issue.Message)
		}
		return celProgram{}
	}
	if got := ast.OutputType(); want != nil && !slices.ContainsFunc([]*cel.Type{want, cel.DynType}, got.IsExactType) {
		c.fail(place, "the expression is of type %s: want %s", got, want)
		return celProgram{}
	}
	program, err := c.env.Program(ast,
		cel.CostLimit(celCost), cel.CostTracking(celCosts{}), cel.InterruptCheckFrequency(celInterruptRate))
	if err != nil {
		c.fail(place, "%s", nodes.OneLine(err))
		return celProgram{}
	}
	return celProgram{place: place, kind: ast.OutputType(), program: program}
}

// maxCELMessage is the maximum length in bytes of a message from an expression, as in Kubernetes.
const maxCELMessage = 5 << 10

// say returns the message of a violation.
func (r *celRule) say(ctx context.Context, input map[string]any) string {
	if r.message != nil {
		value, err := r.message.eval(ctx, input)
		text, ok := value.(types.String)
		message := strings.TrimSpace(string(text))
		if err == nil && ok && message != "" && !strings.Contains(message, "\n") && len(message) <= maxCELMessage {
			return message
		}
	}
	if r.Message != "" {
		return r.Message
	}
	return r.place + ": failed expression: " + strings.Join(strings.Fields(r.Expression), " ")
}

func (p celProgram) eval(ctx context.Context, input map[string]any) (ref.Val, error) {
	value, _, err := p.program.ContextEval(ctx, input)
	return value, err
}

func (p celProgram) test(ctx context.Context, input map[string]any) (bool, error) {
	value, err := p.eval(ctx, input)
	if err != nil {
		return false, err
	}
	ok, isBool := value.(types.Bool)
	if !isBool {
		return false, errors.New("it is of type " + value.Type().TypeName() + ": want bool")
	}
	return bool(ok), nil
}

func (t celTarget) selects(content map[string]any) bool {
	apiVersion := validator.Text(content, "apiVersion")
	if t.Kind == "" && validator.StaysLocal(apiVersion, validator.Text(content, "metadata", "annotations", fn.KptLocalConfig)) {
		return false
	}
	for label, value := range t.Labels {
		if validator.Text(content, "metadata", "labels", label) != value {
			return false
		}
	}
	is := func(want, got string) bool { return want == "" || want == got }
	return is(t.APIVersion, apiVersion) && is(t.Kind, validator.Text(content, "kind")) &&
		is(t.Name, validator.Text(content, "metadata", "name")) && is(t.Namespace, validator.Text(content, "metadata", "namespace"))
}
