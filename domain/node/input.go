package node

// Kinds of answer that an input node asks for.
const (
	answerNumber  = "number"
	answerEmail   = "email"
	answerURL     = "url"
	answerBoolean = "boolean"
)

// What catches a typing mistake in an e-mail address or a web address.
const (
	emailPattern = `^[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+$`
	urlPattern   = `^[hH][tT][tT][pP][sS]?://[^\s/?#]+([/?#]\S*)?$`
)

// The bounds of an e-mail address (RFC 5321, §4.5.3.1.3) and of a web address,
// in characters.
const (
	maxEmail = 254
	maxURL   = 2048
)

// AnswerSchema says which answer an input node with this configuration accepts:
// a string for the kinds text, email and url, a number, or a boolean. It is
// required when the configuration says so.
func AnswerSchema(config map[string]any) FieldSchema {
	required, _ := config["required"].(bool)
	d := Declaration{Type: String, Required: &required}
	switch config["inputType"] {
	case answerNumber:
		d.Type = Number
	case answerBoolean:
		d.Type = Boolean
	case answerEmail:
		d.Pattern, d.MaxLength = new(emailPattern), new(float64(maxEmail))
	case answerURL:
		d.Pattern, d.MaxLength = new(urlPattern), new(float64(maxURL))
	default:
		if required { // an empty text is no answer
			d.MinLength = new(1.0)
		}
	}
	return restoreField(d)
}

// inputOutputs declares the answer that an input node with this configuration asks for.
func inputOutputs(config map[string]any) Declarations {
	return Declarations{{Name: "value", Declaration: AnswerSchema(config).Declaration()}}
}
