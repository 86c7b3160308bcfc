import { useId, type ComponentProps, type ReactNode } from "react";
import { classes } from "./classes.ts";

/** What a control needs to belong to its label, hint and error. */
interface ControlProps {
  id: string;
  "aria-describedby"?: string | undefined;
  "aria-invalid"?: true | undefined;
}

/**
 * A labelled control. `children` gets the props that tie it to its label: `<Field label="Name">{(control) => <Input {...control} />}</Field>`.
 * `hint` says what to enter; `error` what is wrong with what was entered, and is read out.
 */
export function Field({
  label,
  hint,
  error,
  optional = false,
  children,
}: {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
  optional?: boolean;
  children: (control: ControlProps) => ReactNode;
}) {
  const id = useId();
  const described = error !== undefined || hint !== undefined ? `${id}-hint` : undefined;
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {optional && <span className="faint"> optional</span>}
      </label>
      {children({
        id,
        "aria-describedby": described,
        "aria-invalid": error === undefined ? undefined : true,
      })}
      {described !== undefined && (
        <p id={described} className={error === undefined ? "hint" : "hint hint-bad"} aria-live="polite">
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

/** A line of text. `unit` stands inside it in front, e.g. `$`. */
export function Input({ unit, className, ...rest }: ComponentProps<"input"> & { unit?: string }) {
  const input = (
    <input autoComplete="off" spellCheck={false} {...rest} className={classes("input", className)} />
  );
  if (unit === undefined) return input;
  return (
    <span className="input-unit">
      <span aria-hidden="true">{unit}</span>
      {input}
    </span>
  );
}

/** Several lines of text. */
export function Textarea({ className, ...rest }: ComponentProps<"textarea">) {
  return <textarea spellCheck={false} {...rest} className={classes("input", className)} />;
}

/** One of several `options`. */
export function Select({
  options,
  className,
  ...rest
}: ComponentProps<"select"> & { options: readonly { value: string; label: string }[] }) {
  return (
    <select {...rest} className={classes("input select", className)}>
      {options.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}

/** A box to tick, with `label` beside it and `hint` below that. */
export function Checkbox({
  label,
  hint,
  ...rest
}: ComponentProps<"input"> & { label: ReactNode; hint?: ReactNode }) {
  const id = useId();
  return (
    <div className="checkbox">
      <input
        type="checkbox"
        id={id}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        {...rest}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="hint">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}
