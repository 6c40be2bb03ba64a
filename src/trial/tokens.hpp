#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// C++ taken apart by its characters: words, brackets, comments. No compiler reads it.

namespace lapidary::trial {

/// Of a name or a number: a letter, a digit or an underscore.
bool is_word(char c);
bool is_blank(char c);

/// Without the blanks at both ends.
std::string trimmed(std::string_view text);

/// The text with blanks for its comments, for what stands between its quotes, and for its preprocessor lines. Every
/// line break and all else stays in its place. The first is to come before the others.
std::string without_comments(std::string text);
std::string without_strings(std::string text);
std::string without_directives(std::string text);

/// Where a whole word stands from a place on; npos if it does not.
std::size_t find_word(const std::string& text, std::string_view word, std::size_t from);
/// The word that begins at a place; empty if none does.
std::string word_at(const std::string& text, std::size_t i);

/// The first place that is no blank, from one on.
std::size_t skip_blanks(const std::string& text, std::size_t i);
/// The place behind the bracket that closes the one at `open`; the end of the text if there is none.
std::size_t behind_bracket(const std::string& text, std::size_t open);
/// Where the statement or the declaration that a place is in begins.
std::size_t statement_begin(const std::string& code, std::size_t position);

/// The declarator of an array without the brackets at its end.
std::string without_extents(std::string declarator);

/// Splits at commas outside of brackets; blanks around the parts are taken off.
std::vector<std::string> split_arguments(std::string_view text);

}  // namespace lapidary::trial
