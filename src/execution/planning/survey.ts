import {
  type DirectiveNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';

/** The fragments of a document by name. */
export type Fragments = Readonly<Record<string, FragmentDefinitionNode>>;

/** The size of an operation, known before anything of it is expanded. */
export interface Survey {
  /** At least the number of fields that its plan has with all fragments and object types expanded. */
  readonly fields: number;
  /** The names of the variables that its `@skip` and `@include` depend on. */
  readonly conditions: readonly string[];
}

/**
 * Counts the fields of an operation. Each fragment is counted once, however often it is spread: fragments that spread
 * each other twice would take 2^n steps otherwise.
 *
 * @returns undefined for an operation with more than `maxFields`, and for one that the writer cannot answer:
 *   introspection of the schema, and directives other than `@skip` and `@include`
 */
export function surveyOperation(
  schema: GraphQLSchema,
  fragments: Fragments,
  { selectionSet, directives }: OperationDefinitionNode,
  maxFields: number,
): Survey | undefined {
  if (directives?.length) return undefined;
  const surveyor = new Surveyor(schema, fragments, maxFields);
  const fields = surveyor.fieldsIn(selectionSet, schema.getQueryType() ?? undefined);
  return fields > maxFields ? undefined : { fields, conditions: [...surveyor.conditions] };
}

/** Counts are infinite where the operation cannot be planned. */
class Surveyor {
  readonly conditions = new Set<string>();
  private readonly counts = new Map<string, number>();

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly fragments: Fragments,
    private readonly maxFields: number,
  ) {}

  fieldsIn({ selections }: SelectionSetNode, type: GraphQLNamedType | undefined): number {
    let fields = 0;
    for (const selection of selections) {
      if (selection.directives?.length && !selection.directives.every((node) => this.isKnown(node))) {
        return Number.POSITIVE_INFINITY;
      }
      fields += this.fieldsOf(selection, type);
      if (fields > this.maxFields) return Number.POSITIVE_INFINITY;
    }
    return fields;
  }

  private fieldsOf(selection: SelectionNode, type: GraphQLNamedType | undefined): number {
    switch (selection.kind) {
      case Kind.FIELD:
        return this.fieldsAt(selection, type);
      case Kind.INLINE_FRAGMENT: {
        const condition = selection.typeCondition?.name.value;
        return this.fieldsIn(
          selection.selectionSet,
          condition === undefined ? type : this.schema.getType(condition),
        );
      }
      case Kind.FRAGMENT_SPREAD:
        return this.fieldsOfFragment(selection.name.value);
    }
  }

  private fieldsAt({ name, selectionSet }: FieldNode, type: GraphQLNamedType | undefined): number {
    if (name.value === '__schema' || name.value === '__type') return Number.POSITIVE_INFINITY;
    if (!selectionSet) return 1;
    const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[name.value] : undefined;
    const below = field && getNamedType(field.type);
    const fields = this.fieldsIn(selectionSet, below);
    // Each object type gets a plan of its own.
    const plans = isAbstractType(below) ? this.schema.getPossibleTypes(below).length : 1;
    return 1 + fields * plans;
  }

  private fieldsOfFragment(name: string): number {
    const known = this.counts.get(name);
    if (known !== undefined) return known;
    const fragment = this.fragments[name];
    if (!fragment) return 0;
    // Found again within itself, it has no end.
    this.counts.set(name, Number.POSITIVE_INFINITY);
    const type = this.schema.getType(fragment.typeCondition.name.value);
    const fields = this.fieldsIn(fragment.selectionSet, type);
    this.counts.set(name, fields);
    return fields;
  }

  /** Also notes the variable that the directive depends on. */
  private isKnown({ name, arguments: args = [] }: DirectiveNode): boolean {
    if (name.value !== 'skip' && name.value !== 'include') return false;
    const [condition] = args;
    if (args.length !== 1 || condition?.name.value !== 'if') return false;
    if (condition.value.kind === Kind.VARIABLE) this.conditions.add(condition.value.name.value);
    return condition.value.kind === Kind.VARIABLE || condition.value.kind === Kind.BOOLEAN;
  }
}
