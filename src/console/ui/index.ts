export { Button, ButtonLink, ExternalLink, RowButton } from "./button.tsx";
export { Choice } from "./choice.tsx";
export { CopyButton, Copyable } from "./copy-button.tsx";
export { ActionDialog, Dialog } from "./dialog.tsx";
export { EmptyState, Skeleton } from "./empty-state.tsx";
export { ErrorNote, Note } from "./note.tsx";
export {
  Checkbox,
  Field,
  focusInvalidField,
  Input,
  Select,
  SelectField,
  Textarea,
  TextareaField,
  TextField,
} from "./field.tsx";
export { Icon } from "./icon.tsx";
export { Aligned, Money, moneyColumn, SignedMoney } from "./money.tsx";
export { Card, Columns, Facts, Page } from "./page.tsx";
export { Pager } from "./pager.tsx";
export { Name, Stat, Stats, Status } from "./status.tsx";
export { actionColumn, Table, type Column } from "./table.tsx";
export { Tabs } from "./tabs.tsx";
export { Time } from "./time.tsx";
export { showToast, Toasts } from "./toast.tsx";
export { Code } from "./code.tsx";
