import { useState, type FormEvent } from "react";
import type { ApiKey } from "#gen/toolgate/v1/key_service_pb.ts";
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
      title="New key"
      initial={emptyForm(DEFAULT_SCOPES)}
      submitLabel="Create key"
      isNew
      error={error}
      isPending={isPending}
      onSubmit={(form, now) => create(toRequest(form, now), onDone)}
      onCancel={onDone}
    />
  );
}

/** Form to edit a key. Calls `onDone` after the change or on Cancel. */
export function EditKey({ edited, onDone }: { edited: ApiKey; onDone: () => void }) {
  const { mutate, error, isPending } = useUpdateKey();
  const save = (form: Values, now: Date) => {
    const onSuccess = () => {
      showToast(`“${form.name.trim()}” saved`);
      onDone();
    };
    mutate(toChange(edited.keyId, form, now), { onSuccess });
  };
  return (
    <KeyForm
      title={`Edit “${edited.name}”`}
      initial={formOf(edited)}
      submitLabel="Save key"
      isNew={false}
      error={error}
      isPending={isPending}
      onSubmit={save}
      onCancel={onDone}
    />
  );
}

interface KeyFormProps {
  title: string;
  initial: Values;
  submitLabel: string;
  isNew: boolean;
  error: Error | null;
  isPending: boolean;
  onSubmit: (form: Values, now: Date) => void;
  onCancel: () => void;
}

function KeyForm({ title, initial, submitLabel, isNew, error, isPending, onSubmit, onCancel }: KeyFormProps) {
  const [form, setForm] = useState(initial);
  const [fieldErrors, setFieldErrors] = useState<FieldErrors>({});
  const change = (part: Partial<Values>) => {
    setForm({ ...form, ...part });
    setFieldErrors({});
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const now = new Date();
    const found = validate(form, now);
    setFieldErrors(found);
    focusInvalidField(event.currentTarget);
    if (Object.keys(found).length === 0) onSubmit(form, now);
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
          <Button tone="quiet" onClick={onCancel}>
            Cancel
          </Button>
        </div>
      </form>
    </Card>
  );
}
