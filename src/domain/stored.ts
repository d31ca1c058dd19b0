/** The type of a stored value. Its form is the check by which it is read. */
import type * as v from 'valibot';

export type Stored<Form extends v.GenericSchema> = Frozen<v.InferOutput<Form>>;

type Frozen<Value> = { readonly [Key in keyof Value]: Frozen<Value[Key]> };
