// Package template holds the workflows that new ones can begin as: files as sluice workflow writes them, with what has to be
// filled in, a payload to try them with, and names in every language.
package template
