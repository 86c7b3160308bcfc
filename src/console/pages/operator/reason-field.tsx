import { Field, Textarea } from "../../ui/index.ts";

/** Why something is done: it is kept, and often read by the one it is done to. */
export function ReasonField({
  hint,
  value,
  error,
  onChange,
}: {
  hint: string;
  value: string;
  error: string | undefined;
  onChange: (text: string) => void;
}) {
  return (
    <Field label="Reason" hint={hint} error={error}>
      {(control) => (
        <Textarea
          {...control}
          required
          maxLength={500}
          rows={3}
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}
