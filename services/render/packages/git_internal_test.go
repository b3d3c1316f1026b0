// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import "testing"

func TestInGit(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		".git": true, ".git/config": true, "a/.git": true, "a/.git/hooks/x.yaml": true,
		".GIT/config": true, "a/.Git/hooks/pre-commit.yaml": true, ".gIt": true,
		"git~1": true, "GIT~1/config": true, "a/Git~1": true,
		".git /config": true, ".git./config": true, ".git. . /config": true, "git~1 .": true,
		".git::$INDEX_ALLOCATION/config": true, ".git:stream": true, ".git ::$DATA": true, "git~1:x": true,
		`.git\config`: true, `a\.git\config`: true, `a\GIT~1`: true,
		".g\u200cit/config": true, ".git\u200d": true, "\ufeff.git": true, ".\u202egi\u206ft": true, ".G\u200eI\u206aT/x": true,
		"": false, ".": false, "git": false, "git/config": false, ".gitignore": false, ".gitmodules": false, ".github/a.yaml": false, ".gitattributes": false,
		"a.git": false, "a.git/config": false, "..git": false, " .git": false, ".git-x": false, "git~2": false, "git~10": false,
		".g it": false, ".gi": false, ".g\u00edt": false, "\u200b.git": false, "x:.git": false, ".gıt": false,
	} {
		if got := inGit(path); got != want {
			t.Errorf("inGit(%q) = %v, want %v", path, got, want)
		}
	}
}
