#include "cli/arguments.hpp"

#include <CLI/CLI.hpp>
#include <cstdint>

namespace lapidary::cli {

Check::Check(std::function<std::string(std::string&)> refusal) : Check(CLI::Validator(std::move(refusal), "")) {}
Check::Check(const CLI::Validator& validator) : validator_(std::make_shared<const CLI::Validator>(validator)) {}

Check in_range(int least, int most) { return Check(CLI::Range(least, most)); }
Check in_range(double least, double most) { return Check(CLI::Range(least, most)); }
Check one_of(std::vector<std::string> values) { return Check(CLI::IsMember(std::move(values))); }
Check one_of(std::initializer_list<int> values) { return Check(CLI::IsMember(values)); }

const Option& Option::check(const Check& check) const {
  option_->check(check.validator());
  return *this;
}

const Option& Option::transform(const Check& check) const {
  option_->transform(check.validator());
  return *this;
}

const Option& Option::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

const Option& Option::group(const std::string& heading) const {
  option_->group(heading);
  return *this;
}

const Option& Option::required() const {
  option_->required();
  return *this;
}

const Option& Option::needs(const Option& other) const {
  option_->needs(other.option_);
  return *this;
}

const Option& Option::excludes(const Option& other) const {
  option_->excludes(other.option_);
  return *this;
}

const Option& Option::delimiter(char sign) const {
  option_->delimiter(sign);
  return *this;
}

const Option& Option::allow_extra_args(bool several) const {
  option_->allow_extra_args(several);
  return *this;
}

App App::add_subcommand(const std::string& name, const std::string& description) const {
  return App(*app_->add_subcommand(name, description));
}

template <class T>
Option App::add_option(const std::string& names, T& place, const std::string& description) const {
  return Option(*app_->add_option(names, place, description));
}

// What options of this program are kept in.
#define LAPIDARY_PLACE(...) template Option App::add_option(const std::string&, __VA_ARGS__&, const std::string&) const;
LAPIDARY_PLACE(int)
LAPIDARY_PLACE(std::int64_t)
LAPIDARY_PLACE(std::uint64_t)
LAPIDARY_PLACE(double)
LAPIDARY_PLACE(float)
LAPIDARY_PLACE(std::string)
LAPIDARY_PLACE(std::optional<int>)
LAPIDARY_PLACE(std::optional<std::int64_t>)
LAPIDARY_PLACE(std::optional<float>)
LAPIDARY_PLACE(std::optional<std::string>)
LAPIDARY_PLACE(std::vector<int>)
LAPIDARY_PLACE(std::vector<std::int64_t>)
LAPIDARY_PLACE(std::vector<std::uint64_t>)
LAPIDARY_PLACE(std::vector<std::string>)
#undef LAPIDARY_PLACE

Option App::add_flag(const std::string& names, bool& place, const std::string& description) const {
  return Option(*app_->add_flag(names, place, description));
}

void App::footer(const std::string& text) const { app_->footer(text); }
std::string App::name() const { return app_->get_name(); }
bool App::parsed() const { return app_->parsed(); }

}  // namespace lapidary::cli
