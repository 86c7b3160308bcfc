import { useState } from "react";
import { Button, Choice, Select, TextField } from "../../ui/index.ts";
import { daysError, TIME_RANGES, type Days } from "./time-range.ts";
import { MEASURES, type StackedBy, type UsageView } from "./use-usage.ts";

const TIME_RANGE_OPTIONS = TIME_RANGES.map((value) => ({ value, label: value }));

const ZONES = [
  { value: "UTC", label: "UTC" },
  { value: "local", label: "Local" },
] as const;

const STACKS: readonly { value: StackedBy; label: string }[] = [
  { value: "tool", label: "By tool" },
  { value: "key", label: "By key" },
  { value: "model", label: "By model" },
];

const ERROR_STACKS = [{ value: "code", label: "By error code" }, ...STACKS] as const;

interface ControlsProps {
  readonly view: UsageView;
  readonly onChange: (change: Partial<UsageView>) => void;
}

export function UsageControls({ view, onChange }: ControlsProps) {
  const { span, measure, by, zone } = view;
  const stacks = measure === "errors" ? ERROR_STACKS : STACKS;
  return (
    <div className="usage-controls">
      <Choice
        label="Chart metric"
        options={MEASURES}
        value={measure}
        onChange={(value) => onChange({ measure: value, by: value === "errors" ? "code" : "tool" })}
      />
      {measure !== "latency" && (
        <Select
          aria-label="Stacked by"
          options={stacks}
          value={by}
          onChange={({ target }) =>
            onChange({ by: stacks.find(({ value }) => value === target.value)?.value ?? "tool" })
          }
        />
      )}
      <Choice
        label="Time range"
        options={TIME_RANGE_OPTIONS}
        value={span}
        onChange={(value) => onChange({ span: value })}
      />
      <Choice
        label="Time zone"
        options={ZONES}
        value={zone}
        onChange={(value) => onChange({ zone: value })}
      />
      {span === "custom" && <CustomDays days={view} onChange={onChange} />}
    </div>
  );
}

function CustomDays({ days, onChange }: { days: Days; onChange: (days: Days) => void }) {
  const [from, setFrom] = useState(days.from);
  const [to, setTo] = useState(days.to);
  const error = from === "" && to === "" ? undefined : daysError({ from, to });
  return (
    <form
      className="usage-days"
      onSubmit={(event) => {
        event.preventDefault();
        if (error === undefined) onChange({ from, to });
      }}
    >
      <TextField
        label="First day"
        error={error}
        type="date"
        required
        value={from}
        onChange={({ target }) => setFrom(target.value)}
      />
      <TextField
        label="Last day"
        type="date"
        required
        value={to}
        onChange={({ target }) => setTo(target.value)}
      />
      <Button type="submit">Show</Button>
    </form>
  );
}
