import { Field, Textarea } from "../../ui/index.ts";

/** The reason for an action; it is stored, and the customer may see it. */
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
