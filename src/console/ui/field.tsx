import { useId, type ComponentProps, type ReactNode } from "react";
import { classes } from "./classes.ts";

/** Props that tie a control to its label, hint and error. */
interface ControlProps {
  id: string;
  "aria-describedby"?: string | undefined;
  "aria-invalid"?: true | undefined;
}

interface LabelProps {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
  optional?: boolean | undefined;
}

/** A labelled control; `children` renders it. An `error` replaces the `hint` and is announced. */
export function Field({
  label,
  hint,
  error,
  optional = false,
  children,
}: LabelProps & { children: (control: ControlProps) => ReactNode }) {
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

/** A text input. `unit` is shown before the value, e.g. `$`. */
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

export function Textarea({ className, ...rest }: ComponentProps<"textarea">) {
  return <textarea spellCheck={false} {...rest} className={classes("input", className)} />;
}

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

export function TextField({
  label,
  hint,
  error,
  optional,
  ...input
}: LabelProps & Parameters<typeof Input>[0]) {
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {(control) => <Input {...control} {...input} />}
    </Field>
  );
}

export function TextareaField({ label, hint, error, ...input }: LabelProps & ComponentProps<"textarea">) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => <Textarea {...control} {...input} />}
    </Field>
  );
}

export function SelectField({ label, hint, ...select }: LabelProps & Parameters<typeof Select>[0]) {
  return (
    <Field label={label} hint={hint}>
      {(control) => <Select {...control} {...select} />}
    </Field>
  );
}

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

/** Focuses the first control with an error in the form or dialog of `element`, once it has rendered again. */
export function focusInvalidField(element: Element): void {
  const form = element.closest("form, dialog");
  requestAnimationFrame(() => form?.querySelector<HTMLElement>("[aria-invalid]")?.focus());
}
