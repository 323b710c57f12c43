package tape

import "github.com/harnessbench/harnessbench/loop/model"

// parseAnswer stands in for dialect.Parse.
func parseAnswer(x *Exchange, body []byte) (*model.Response, *model.Error) {
	_ = x.header("content-type")
	if !x.OK() {
		return nil, &model.Error{Kind: model.ErrServer, Status: x.Status, Message: string(body)}
	}
	return &model.Response{Usage: model.Usage{Unknown: true}}, nil
}
