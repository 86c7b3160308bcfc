import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { useMutation } from "@connectrpc/connect-query";
import { ActionDialog, showToast } from "../ui/index.ts";

/** A dialog whose action is a call of the API. It closes when the call has succeeded. */
export function MutationDialog<Input extends DescMessage, Output extends DescMessage>({
  method,
  input,
  onSuccess,
  toast,
  ...dialog
}: Omit<Parameters<typeof ActionDialog>[0], "busy" | "error" | "onAction"> & {
  method: DescMethodUnary<Input, Output>;
  input: () => MessageInitShape<Input>;
  /** Loads again what the call changed. */
  onSuccess: (answer: MessageShape<Output>) => Promise<void>;
  toast?: string | ((answer: MessageShape<Output>) => string);
}) {
  const { mutate, error, isPending, reset } = useMutation(method, {
    onSuccess: async (answer) => {
      await onSuccess(answer);
      if (toast !== undefined) showToast(typeof toast === "string" ? toast : toast(answer));
      dialog.onClose();
    },
  });
  const close = () => {
    reset();
    dialog.onClose();
  };
  return (
    <ActionDialog
      {...dialog}
      onClose={close}
      busy={isPending}
      error={error}
      onAction={() => mutate(input())}
    />
  );
}
