import { useState, type FormEvent } from "react";
import type { ApiKey } from "#gen/toolgate/v1/key_service_pb.ts";
import { createFormMemory, useFormMemory } from "../../form-memory.ts";
import { Button, Card, ErrorNote, focusInvalidField, showToast } from "../../ui/index.ts";
import { KeyFields } from "./key-fields.tsx";
import {
  emptyForm,
  formOf,
  type FieldErrors,
  type KeyForm as Values,
  toChange,
  toRequest,
  validate,
  DEFAULT_SCOPES,
} from "./key-form-values.ts";
import { useCreateKey, useUpdateKey } from "./use-keys.ts";

/** Form for a new key. Calls `onDone` after creation or on Cancel. */
export function CreateKey({ onDone }: { onDone: () => void }) {
  const { create, error, isPending } = useCreateKey();
  return (
    <KeyForm
      name="new"
      title="New key"
      initial={emptyForm(DEFAULT_SCOPES)}
      submitLabel="Create key"
      isNew
      error={error}
      isPending={isPending}
      onSubmit={(form, now, done) => create(toRequest(form, now), done)}
      onDone={onDone}
    />
  );
}

/** Form to edit a key. Calls `onDone` after the change or on Cancel. */
export function EditKey({ edited, onDone }: { edited: ApiKey; onDone: () => void }) {
  const { mutate, error, isPending } = useUpdateKey();
  const save = (form: Values, now: Date, done: () => void) => {
    const onSuccess = () => {
      showToast(`“${form.name.trim()}” saved`);
      done();
    };
    mutate(toChange(edited, form, now), { onSuccess });
  };
  return (
    <KeyForm
      name={edited.keyId}
      title={`Edit “${edited.name}”`}
      initial={formOf(edited)}
      submitLabel="Save key"
      isNew={false}
      error={error}
      isPending={isPending}
      onSubmit={save}
      onDone={onDone}
    />
  );
}

interface KeyFormProps {
  /** `new`, or `key_…`. */
  name: string;
  title: string;
  initial: Values;
  submitLabel: string;
  isNew: boolean;
  error: Error | null;
  isPending: boolean;
  onSubmit: (form: Values, now: Date, done: () => void) => void;
  onDone: () => void;
}

const memory = createFormMemory<Values>();

function KeyForm({ name, title, initial, submitLabel, isNew, error, isPending, ...on }: KeyFormProps) {
  const [form, setForm, forget] = useFormMemory(memory, name, () => initial);
  const [fieldErrors, setFieldErrors] = useState<FieldErrors>({});
  const change = (part: Partial<Values>) => {
    setForm({ ...form, ...part });
    setFieldErrors({});
  };
  const done = () => {
    forget();
    on.onDone();
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const now = new Date();
    const found = validate(form, now);
    setFieldErrors(found);
    focusInvalidField(event.currentTarget);
    if (Object.keys(found).length === 0) on.onSubmit(form, now, done);
  };
  return (
    <Card title={title}>
      <form className="stack key-form" onSubmit={submit} noValidate>
        <KeyFields form={form} fieldErrors={fieldErrors} change={change} isNew={isNew} />
        <ErrorNote error={error} />
        <div className="actions">
          <Button type="submit" tone="primary" busy={isPending}>
            {submitLabel}
          </Button>
          <Button tone="quiet" onClick={done}>
            Cancel
          </Button>
        </div>
      </form>
    </Card>
  );
}
