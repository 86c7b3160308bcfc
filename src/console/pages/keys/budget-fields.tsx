import { TextField } from "../../ui/index.ts";
import type { BudgetForm } from "./budget-form.ts";

export const LIMITS = {
  perCall: { label: "Limit per call", hint: "Calls that cost more are rejected" },
  perDay: { label: "Daily limit", hint: "Balance spent per day; resets at 00:00 UTC" },
  perMonth: { label: "Monthly limit", hint: "Resets on the first day of the month (UTC)" },
  inAll: { label: "Limit in all", hint: "Never resets" },
} as const;

type LimitName = keyof typeof LIMITS;

/** The field of one limit, in dollars. */
export function LimitField<Name extends LimitName>({
  name,
  form,
  fieldErrors,
  change,
}: {
  name: Name;
  form: Readonly<Record<Name, string>>;
  fieldErrors: Partial<Record<LimitName, string>>;
  change: (change: Partial<Record<LimitName, string>>) => void;
}) {
  return (
    <TextField
      {...LIMITS[name]}
      optional
      error={fieldErrors[name]}
      unit="$"
      inputMode="decimal"
      placeholder="No limit"
      value={form[name]}
      onChange={({ target }) => change({ [name]: target.value })}
    />
  );
}

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
      {(["perDay", "perMonth", "inAll"] as const).map((name) => (
        <LimitField key={name} name={name} form={form} fieldErrors={fieldErrors} change={change} />
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
