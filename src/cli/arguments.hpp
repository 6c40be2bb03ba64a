#pragma once
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// CLI11 for the files of commands: its one header takes a compiler several seconds, and arguments.cpp alone includes
// it.

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace lapidary::cli {

/// What the text of an option has to be.
class Check {
 public:
  /// @param refusal  what is wrong with a text, or nothing; it may write the text anew
  explicit Check(std::function<std::string(std::string&)> refusal);
  explicit Check(const CLI::Validator& validator);
  const CLI::Validator& validator() const { return *validator_; }

 private:
  std::shared_ptr<const CLI::Validator> validator_;
};

/// Numbers from `least` to `most`.
Check in_range(int least, int most);
Check in_range(double least, double most);
/// One of these values.
Check one_of(std::vector<std::string> values);
Check one_of(std::initializer_list<int> values);

/// An option of a command. A reference: the program keeps it.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  const Option& check(const Check& check) const;
  /// As `check`, ahead of those that were added before.
  const Option& transform(const Check& check) const;
  /// What --help calls its value.
  const Option& type_name(const std::string& name) const;
  /// The heading that --help has it under.
  const Option& group(const std::string& heading) const;
  const Option& required() const;
  const Option& needs(const Option& other) const;
  const Option& needs_one_of(std::vector<Option> others) const;
  const Option& excludes(const Option& other) const;
  /// Whether one mention takes several arguments.
  const Option& allow_extra_args(bool several) const;

 private:
  CLI::Option* option_;
};

/// The program, or one of its commands. A reference, as Option is.
class App {
 public:
  explicit App(CLI::App& app) : app_(&app) {}

  App add_subcommand(const std::string& name, const std::string& description) const;
  /// Its value is not empty: that would be taken for none, where a script's variable has nothing.
  /// @param place  outlives the parsing; arguments.cpp names its types
  template <class T>
  Option add_option(const std::string& names, T& place, const std::string& description) const;
  /// Of values that commas separate, none of which is empty.
  template <class T>
  Option add_list(const std::string& names, std::vector<T>& place, const std::string& description) const;
  Option add_flag(const std::string& names, bool& place, const std::string& description) const;
  /// What --help ends with.
  void footer(const std::string& text) const;

  std::string name() const;
  /// Whether the command line names it.
  bool parsed() const;

 private:
  CLI::App* app_;
};

}  // namespace lapidary::cli
