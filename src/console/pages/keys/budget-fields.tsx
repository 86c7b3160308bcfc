import { TextField } from "../../ui/index.ts";
import type { BudgetForm } from "./budget-form.ts";

interface AmountFieldProps {
  label: string;
  hint: string;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}

export function AmountField({ label, hint, value, error, onChange }: AmountFieldProps) {
  return (
    <TextField
      label={label}
      optional
      error={error}
      hint={hint}
      unit="$"
      inputMode="decimal"
      placeholder="No limit"
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}

const LIMITS = [
  { name: "perDay", label: "Daily limit", hint: "Balance spent per day; resets at 00:00 UTC" },
  { name: "perMonth", label: "Monthly limit", hint: "Resets on the first day of the month (UTC)" },
  { name: "inAll", label: "Limit in all", hint: "Never resets" },
] as const;

export function BudgetFields({
  form,
  fieldErrors,
  change,
}: {
  form: BudgetForm;
  fieldErrors: Partial<Record<keyof BudgetForm, string>>;
  change: (change: Partial<BudgetForm>) => void;
}) {
  return (
    <>
      {LIMITS.map(({ name, label, hint }) => (
        <AmountField
          key={name}
          label={label}
          hint={hint}
          value={form[name]}
          error={fieldErrors[name]}
          onChange={(value) => change({ [name]: value })}
        />
      ))}
      <TextField
        label="Warn at"
        error={fieldErrors.warnPercent}
        hint="Percent of a daily, monthly or total limit"
        inputMode="numeric"
        maxLength={3}
        value={form.warnPercent}
        onChange={({ target }) => change({ warnPercent: target.value })}
      />
    </>
  );
}
