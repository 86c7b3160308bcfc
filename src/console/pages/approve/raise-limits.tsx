import type { JsonObject } from "@bufbuild/protobuf";
import { useState, type FormEvent } from "react";
import { formatUsd } from "../../format.ts";
import { Button, Card, ErrorNote, focusInvalidField, TextField } from "../../ui/index.ts";
import { limitError, limitOf, limitText } from "../keys/budget-form.ts";
import { LIMITS } from "../keys/budget-fields.tsx";
import { type AppLimit, type Approval, neededFor } from "./approval.ts";

interface RaiseLimitsProps {
  approval: Approval;
  error: Error | null;
  isPending: boolean;
  onRaise: (limits: JsonObject) => void;
  onCancel: () => void;
}

/** Form for the limits that a call exceeds. Proposes the lowest that allow it. */
export function RaiseLimits({ approval, error, isPending, onRaise, onCancel }: RaiseLimitsProps) {
  const exceeded = approval.limits.flatMap((limit) => {
    const needed = neededFor(approval, limit);
    return needed === undefined ? [] : [{ ...limit, needed }];
  });
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [shown, setShown] = useState(false);
  const textOf = ({ field, needed }: Exceeded) => texts[field] ?? limitText(needed);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setShown(true);
    focusInvalidField(event.currentTarget);
    if (exceeded.every((limit) => problemOf(limit, textOf(limit)) === undefined))
      onRaise(Object.fromEntries(exceeded.map((limit) => [limit.field, amountOf(textOf(limit))])));
  };
  return (
    <Card title="Raise the limit">
      <form className="stack" onSubmit={submit} noValidate>
        <div className="form-columns">
          {exceeded.map((limit) => (
            <TextField
              key={limit.field}
              label={LIMITS[limit.name].label}
              hint={`${formatUsd(limit.limit)} now; this call needs ${formatUsd(limit.needed)}`}
              error={shown ? problemOf(limit, textOf(limit)) : undefined}
              unit="$"
              inputMode="decimal"
              value={textOf(limit)}
              onChange={({ target }) => setTexts({ ...texts, [limit.field]: target.value })}
            />
          ))}
        </div>
        <ErrorNote error={error} />
        <div className="actions">
          <Button type="submit" tone="primary" busy={isPending}>
            Raise and allow
          </Button>
          <Button tone="quiet" onClick={onCancel}>
            Cancel
          </Button>
        </div>
      </form>
    </Card>
  );
}

interface Exceeded extends AppLimit {
  readonly needed: bigint;
}

function problemOf({ needed }: Exceeded, text: string): string | undefined {
  const amount = limitOf(text);
  if (amount === undefined) return limitError(text) ?? "Enter an amount, such as 25 or 12.50.";
  return amount < needed ? `Minimum ${formatUsd(needed)}.` : undefined;
}

function amountOf(text: string): string {
  return (limitOf(text) ?? 0n).toString();
}
